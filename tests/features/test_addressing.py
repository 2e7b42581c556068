"""A project is named first, as ``@orders``: in a slash command, after a mention of the bot, or after ``!command``."""

from __future__ import annotations

from bridge.engine.addressing import misspelled_first, named_first
from bridge.engine.projects import ServedProjects
from bridge.project import Catalog, ProjectClient
from bridge.project.connection import ProjectConnection
from support.tables import each

BOT = "U0BRIDGE"
CLIENT = ProjectClient("http://project.test", "key")


def project(id_: str, name: str) -> ProjectConnection:
    return ProjectConnection(CLIENT, Catalog(CLIENT), id_, name)


PROJECTS = ServedProjects(project("default", "Company"), project("orders", "Order Desk"), project("orders-eu", "Ärger"))


@each(
    ("text", "named", "rest"),
    [
        ("/workflows @orders run 3 hello", "orders", "/workflows run 3 hello"),
        ("/workflows @ORDERS run 3  hello ", "orders", "/workflows run 3  hello"),
        ("/workflows @orders", "orders", "/workflows "),
        ("/workflows ＠ｏｒｄｅｒｓ list", "orders", "/workflows list"),  # noqa: RUF001 - full-width
        ("/workflows @orders-eu list", "orders-eu", "/workflows list"),
        ("/workflows @order desk list", "orders", "/workflows list"),
        ('/workflows @"Order Desk" list', "orders", "/workflows list"),
        ("/workflows @Order  Desk: list", "orders", "/workflows list"),
        ("/workflows @a\u0308rger list", "orders-eu", "/workflows list"),
        ("/workflows @company list", "default", "/workflows list"),
        ("/workflows @default list", "default", "/workflows list"),
        ("/workflows <@U123|orders> list", "orders", "/workflows list"),
        ("/workflows <!subteam^S123|@orders> list", "orders", "/workflows list"),
        ("/workflows run @orders 3", None, ""),
        ("/workflows @orderss list", None, ""),
        ("/workflows orders list", None, ""),
        ("/workflows @ orders", None, ""),
        ("/project orders", "orders", "/project "),
        ("/project order desk", "orders", "/project "),
        ("/project nothing", None, ""),
        (f"<@{BOT}> @orders Support: hi", "orders", f"<@{BOT}> Support: hi"),
        (f"<@{BOT}|bridge>, @orders, hi", "orders", f"<@{BOT}|bridge>, hi"),
        (f"<@{BOT}> <@U123> @orders hi", "orders", f"<@{BOT}> <@U123> hi"),
        (f"<@{BOT}> !workflows @orders run 3 x", "orders", f"<@{BOT}> !workflows run 3 x"),
        (f"<@{BOT}> @orders !workflows run 3 x", "orders", f"<@{BOT}> !workflows run 3 x"),
        ("!project orders", "orders", "!project "),
        ("@orders hi\nthere  &amp; then", "orders", "hi\nthere  &amp; then"),
        ("hi @orders", None, ""),
        ("orders: hi", None, ""),
        ("@", None, ""),
        ("", None, ""),
    ],
)
def test_a_project_counts_only_where_it_is_named_first(text: str, named: str | None, rest: str) -> None:
    found = named_first(text, PROJECTS, bot_user=BOT, bare={"project"})

    assert (found.project.id if found else None, found.rest if found else "") == (named, rest)


@each(
    ("text", "meant", "rest"),
    [
        (f"<@{BOT}> @ordres Support: hi", "orders", f"<@{BOT}> Support: hi"),
        (f"<@{BOT}> @Ordr: hi", "orders", f"<@{BOT}> hi"),
        ("@oders", "orders", ""),
        ("@order dsk hi\nthere", "orders", "hi\nthere"),
        ("@orders-uk hi", "orders-eu", "hi"),
        ("@orders_eu, hi", "orders-eu", "hi"),
        ("@comapny hi", "default", "hi"),
        ("@ordres\nhi", "orders", "hi"),
        ("@ 5 pm", None, ""),
        ("@5pm at the desk", None, ""),
        ("@", None, ""),
        ("ordres: hi", None, ""),
        ("hi @ordres", None, ""),
        ("@shipping hi", None, ""),
        ("joe@ordres.example is gone", None, ""),
        ("@ordres.example is down", None, ""),
        ("<mailto:joe@ordres.example|joe@ordres.example> is gone", None, ""),
        ("<@U123|ordres> hi", None, ""),
        ("<!subteam^S123|@ordres> hi", None, ""),
        ("`@ordres` hi", None, ""),
        ("```\n@ordres\n```", None, ""),
        ("@order()\ndef f(): ...", None, ""),
        ("@order\ndef f(): ...", None, ""),
        ("@oders\n  @Bean\npublic void f() {}", None, ""),
        ("@order('/x') is a route", None, ""),
        (f"@{'order' * 200}", None, ""),
    ],
)
def test_a_misspelled_project_counts_only_as_a_first_word(text: str, meant: str | None, rest: str) -> None:
    found = misspelled_first(text, PROJECTS, bot_user=BOT)

    assert (found.project.id if found else None, found.rest if found else "") == (meant, rest)
