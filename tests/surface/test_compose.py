"""`docker-compose.yml`: valid by Compose's schema, hardened, and consistent with the bridge."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from ruamel.yaml import YAML
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse
from starlette.routing import Route

import bridge
from bridge.playground.local_server import LocalServer
from bridge.settings import environment, load
from support.reference import default_drain

CODE = Path(bridge.__file__).parent.parent
COMPOSE: dict[str, Any] = YAML(typ="safe").load((CODE / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, Any] = COMPOSE["services"]
DOCKERFILE = (CODE / "Dockerfile").read_text(encoding="utf-8")


def filled_in(text: str, **values: str) -> str:
    """Substitute variables as Compose does."""
    found = re.sub(r"\$\{(\w+)(?::-([^}]*)|:\?[^}]*)\}", lambda place: values.get(place[1], place[2] or ""), text)
    return found.replace("$$", "$")


def test_the_compose_file_matches_its_schema() -> None:
    vendored = files("check_jsonschema") / "builtin_schemas" / "vendor" / "compose-spec.json"
    schema = json.loads(vendored.read_text(encoding="utf-8"))

    problems = Draft202012Validator(schema).iter_errors(COMPOSE)

    assert [f"{list(problem.path)}: {problem.message}" for problem in problems] == []


@pytest.mark.parametrize("name", SERVICES)
def test_services_have_minimal_privileges(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["tmpfs"] == ["/tmp"]
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert service["healthcheck"]["test"]


def test_only_the_bridge_is_published_and_only_on_localhost() -> None:
    assert [filled_in(port) for port in SERVICES["bridge"]["ports"]] == ["127.0.0.1:3000:3000"]
    assert "ports" not in SERVICES["redis"]
    assert [COMPOSE["networks"][name] for name in SERVICES["redis"]["networks"]] == [{"internal": True}]


def test_three_replicas_are_published_on_three_local_ports() -> None:
    page = (CODE / "docs/how-to/several-bridges.md").read_text(encoding="utf-8")
    [(replicas, ports)] = re.findall(r"^REPLICAS=(\d+)\nBRIDGE_PORT=(\S+)$", page, re.MULTILINE)
    first, last = map(int, ports.split("-"))

    assert [filled_in(port, BRIDGE_PORT=ports) for port in SERVICES["bridge"]["ports"]] == [f"127.0.0.1:{ports}:3000"]
    assert filled_in(SERVICES["bridge"]["deploy"]["replicas"], REPLICAS=replicas) == str(last - first + 1)
    assert filled_in(SERVICES["bridge"]["deploy"]["replicas"]) == "1"
    assert SERVICES["bridge"]["environment"]["BRIDGE_PORT"] == "3000"


def test_no_service_runs_as_root_and_every_image_has_an_exact_version() -> None:
    bases = re.findall(r"^FROM (\S+) AS base$", DOCKERFILE, re.MULTILINE)

    assert SERVICES["redis"]["user"] == "redis"
    assert re.findall(r"^USER (\S+)", DOCKERFILE, re.MULTILINE) == ["bridge"]
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == [*bases, "base", "base"]
    assert len(bases) == 1
    for image in [*bases, SERVICES["redis"]["image"]]:
        assert re.search(r":\d+\.\d+\.\d+-", image), image


def test_the_image_copies_existing_files_and_installs_pinned_packages() -> None:
    copied = [words.split()[:-1] for words in re.findall(r"^COPY (?!--from)(.+)$", DOCKERFILE, re.MULTILINE)]
    ignored_but = re.findall(r"^!(\S+)", (CODE / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)

    assert SERVICES["bridge"]["build"] == "."
    assert SERVICES["bridge"]["image"] == f"bridge:{bridge.__version__}"
    assert sorted(name for names in copied for name in names) == sorted(ignored_but)
    assert [name for names in copied for name in names if not (CODE / name).exists()] == []
    assert {"pyproject.toml", "constraints.txt", "bridge"} <= {name for names in copied for name in names}
    assert "--constraint constraints.txt '.[documents,otel]'" in DOCKERFILE
    assert "PATH=/opt/bridge/bin:$PATH" in DOCKERFILE


def test_a_filled_in_env_example_is_sufficient(tmp_path: Path) -> None:
    example = (CODE / ".env.example").read_text(encoding="utf-8")
    assert "#REDIS_PASSWORD=" in example
    given = re.sub(r"^(\w+)=$", r"\1=x", example, flags=re.MULTILINE)
    for name, beginning in (("BOT_TOKEN", "xoxb-1"), ("APP_TOKEN", "xapp-1"), ("BASE_URL", "https://x")):
        given = given.replace(f"{name}=x", f"{name}={beginning}")
    (tmp_path / ".env").write_text(given.replace("#REDIS_PASSWORD=", "REDIS_PASSWORD=ab12"), encoding="utf-8")
    ours = {name: filled_in(value, REDIS_PASSWORD="ab12") for name, value in SERVICES["bridge"]["environment"].items()}

    settings = load(environment(ours, tmp_path / ".env"))

    assert settings.redis_url is not None
    assert settings.redis_url.get_secret_value() == "redis://:ab12@redis:6379/0"
    assert (settings.host, settings.port) == ("0.0.0.0", 3000)


def test_the_bridge_waits_for_redis_and_has_time_to_drain() -> None:
    service = SERVICES["bridge"]
    assert service["depends_on"] == {"redis": {"condition": "service_healthy"}}
    assert int(service["stop_grace_period"].removesuffix("s")) > default_drain()


@pytest.mark.parametrize(("status", "code"), [(200, 0), (503, 1), (None, 1)])
async def test_the_health_check_reports_whether_the_bridge_answers(status: int | None, code: int) -> None:
    app = Starlette(routes=[Route("/healthz", lambda _: PlainTextResponse("", status_code=status or 200))])
    server = LocalServer(app)
    await server.start()
    if status is None:
        await server.stop()
    how, program, *words = SERVICES["bridge"]["healthcheck"]["test"]
    port = server.url.rpartition(":")[2]

    checking = await asyncio.create_subprocess_exec(
        sys.executable, *(word.replace("3000", port) for word in words), stderr=asyncio.subprocess.DEVNULL
    )
    ended = await checking.wait()

    await server.stop()
    assert (how, program) == ("CMD", "python")
    assert ended == code
