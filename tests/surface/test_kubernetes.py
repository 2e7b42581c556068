"""`ops/kubernetes`: valid by Kubernetes' schemas, minimal privileges, and consistent with the bridge and its image."""

from __future__ import annotations

import asyncio
import re
import shutil
import subprocess
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, get_args

import httpx
import pytest
from kubernetes_validate import latest_version, validate
from pydantic import SecretStr
from redis import Redis
from redis.backoff import NoBackoff
from redis.exceptions import AuthenticationError, ConnectionError as NoConnection
from redis.retry import Retry
from ruamel.yaml import YAML

from bridge import __version__
from bridge.documents import AT_ONCE
from bridge.documents.child import MEMORY
from bridge.door.http import Reach, Readiness, build
from bridge.metrics import Metrics
from bridge.settings import VARIABLES, Settings, load, unknown_variables
from support import docs_site
from support.ports import free_port
from support.real_redis import server_program
from support.reference import default_drain
from support.tables import each
from support.waiting import wait_until

KUBERNETES = docs_site.ROOT / "ops/kubernetes"
DOCKERFILE = (docs_site.ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = YAML(typ="safe").load(docs_site.ROOT / "docker-compose.yml")["services"]
FOLDERS = sorted(path.parent for path in KUBERNETES.rglob("kustomization.yaml"))
OVERLAYS = [folder.name for folder in FOLDERS if folder.parent.name == "overlays"]
COMPONENTS = [folder.name for folder in FOLDERS if folder.parent.name == "components"]
OPERATORS = "monitoring.coreos.com/v1"  # Prometheus', whose kinds Kubernetes' own schemas don't have
NEEDS_KUBECTL = pytest.mark.skipif(shutil.which("kubectl") is None, reason="kubectl isn't installed")


def documents(path: Path) -> list[Any]:
    return list(YAML(typ="safe").load_all(path.read_text(encoding="utf-8")))


def kustomization(folder: Path) -> dict[str, Any]:
    [found] = documents(folder / "kustomization.yaml")
    return dict(found)


def resources() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each resource as it's in its file, by that file; patches are none."""
    for folder in FOLDERS:
        for name in kustomization(folder).get("resources", []):
            if (folder / name).is_file():
                for resource in documents(folder / name):
                    yield f"{folder.name}/{name}", dict(resource)


RESOURCES = list(resources())


def the(kind: str, name: str = "bridge") -> dict[str, Any]:
    [found] = [one for _, one in RESOURCES if one["kind"] == kind and one["metadata"]["name"] == name]
    return found


def pod_of(resource: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A resource's pod and its only container."""
    pod = resource["spec"]["template"]["spec"]
    [container] = pod["containers"]
    return pod, container


def mebibytes(amount: str) -> int:
    return int(amount.removesuffix("Mi"))


def rendered(folder: Path) -> list[dict[str, Any]]:
    """What ``kubectl apply -k`` of *folder* would apply."""
    printed = subprocess.run(["kubectl", "kustomize", str(folder)], capture_output=True, text=True, check=False)  # noqa: S603, S607 - our own files
    assert printed.returncode == 0, printed.stderr
    return list(YAML(typ="safe").load_all(printed.stdout))


def check(resource: dict[str, Any]) -> None:
    if resource["apiVersion"] != OPERATORS:
        validate(resource, latest_version(), strict=True)


@each("folder", FOLDERS)
def test_a_kustomization_lists_every_file_beside_it(folder: Path) -> None:
    listed = kustomization(folder)
    names = [*(listed.get("resources") or []), *(patch["path"] for patch in listed.get("patches") or [])]
    beside = {path.name for path in folder.iterdir() if path.is_file()}

    assert [name for name in names if not (folder / name).exists()] == []
    assert beside == {"kustomization.yaml", *(name for name in names if (folder / name).is_file())}


@each(("where", "resource"), RESOURCES)
def test_a_resource_is_valid_in_its_file(where: str, resource: dict[str, Any]) -> None:  # noqa: ARG001 - names the row
    check(resource)


@NEEDS_KUBECTL
@each(("overlay", "components"), product(OVERLAYS, ([], COMPONENTS)))
def test_an_overlay_is_valid_as_kubectl_renders_it(overlay: str, components: list[str], tmp_path: Path) -> None:
    folder = tmp_path / f"{overlay}-{len(components)}"
    shutil.copytree(KUBERNETES, folder)
    path = folder / "overlays" / overlay / "kustomization.yaml"
    text = path.read_text(encoding="utf-8")
    for component in components:
        assert f"  # - ../../components/{component} " in text
        text = text.replace(f"# - ../../components/{component} ", f"- ../../components/{component} ")
    path.write_text(text, encoding="utf-8")

    found = rendered(path.parent)

    for resource in found:
        check(resource)
    kinds = [resource["kind"] for resource in found]
    assert ("ServiceMonitor" in kinds) is ("service-monitor" in components)
    assert ("StatefulSet" in kinds) is (overlay == "own-redis")
    [_, container] = pod_of(next(one for one in found if one["kind"] == "Deployment"))
    assert container["image"] == f"your-registry.example.com/bridge:{__version__}"
    secrets = {entry["name"] for entry in container["env"]}
    assert ("SLACK_APP_TOKEN_FILE" in secrets) is ("socket-mode" in components)
    assert ("SLACK_SIGNING_SECRET_FILE" in secrets) is ("socket-mode" not in components)
    [policy] = [one for one in found if one["kind"] == "NetworkPolicy" and one["metadata"]["name"] == "bridge"]
    assert 6379 in {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}
    [settings] = [one["data"] for one in found if one["kind"] == "ConfigMap"]
    assert {"PROJECT_BASE_URL", "BRIDGE_LOG_FORMAT"} <= settings.keys()


async def test_the_probes_and_ports_are_the_bridges() -> None:
    _, container = pod_of(the("Deployment"))
    [port] = container["ports"]
    not_yet = Readiness(Reach.NOT_YET, Reach.NOT_YET, Reach.NOT_YET, accepts=False)
    pages = httpx.ASGITransport(build(None, lambda: not_yet, Metrics()))
    monitor, service = the("ServiceMonitor"), the("Service")
    [endpoint], [exposed] = monitor["spec"]["endpoints"], service["spec"]["ports"]

    assert port["containerPort"] == int(Settings.model_fields["port"].default)
    assert exposed["targetPort"] == port["name"]
    assert endpoint["port"] == exposed["name"]
    async with httpx.AsyncClient(transport=pages, base_url="http://pod") as caller:
        for probe, status in (("livenessProbe", 200), ("readinessProbe", 503)):
            assert container[probe]["httpGet"]["port"] == port["name"]
            assert (await caller.get(container[probe]["httpGet"]["path"])).status_code == status
        assert (await caller.get(endpoint["path"])).status_code == 200


def test_everything_selects_the_bridges_pods() -> None:
    deployment = the("Deployment")
    labels = deployment["spec"]["template"]["metadata"]["labels"]
    spread = deployment["spec"]["template"]["spec"]["topologySpreadConstraints"]
    selectors = [one["spec"]["selector"] for one in (deployment, the("PodDisruptionBudget"))]
    selectors += [the("NetworkPolicy")["spec"]["podSelector"], *(one["labelSelector"] for one in spread)]

    assert [one["matchLabels"] for one in selectors] == [labels] * len(selectors)
    assert the("Service")["spec"]["selector"] == labels
    assert the("ServiceMonitor")["spec"]["selector"]["matchLabels"] == the("Service")["metadata"]["labels"]
    assert 'job="bridge"' in (docs_site.ROOT / "ops/prometheus/bridge-rules.yml").read_text(encoding="utf-8")
    assert the("Service")["metadata"]["name"] == "bridge", "the operator names the job after the Service"


def test_a_rollout_drains_the_old_pods() -> None:
    deployment = the("Deployment")
    pod, container = pod_of(deployment)
    _, seconds = container["lifecycle"]["preStop"]["exec"]["command"]

    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    assert pod["terminationGracePeriodSeconds"] > int(seconds) + default_drain()
    assert the("PodDisruptionBudget")["spec"]["maxUnavailable"] < deployment["spec"]["replicas"]
    for name in OVERLAYS:
        [replicas] = kustomization(KUBERNETES / "overlays" / name)["replicas"]
        assert replicas == {"name": "bridge", "count": deployment["spec"]["replicas"]}


def test_the_memory_is_what_was_measured() -> None:
    page = (docs_site.ROOT / "docs/how-to/size.md").read_text(encoding="utf-8")
    [busy] = re.findall(r"^\| 1,000 messages at once.*\| (\d+) MB \|$", page, re.MULTILINE)
    [files] = re.findall(r"^\| reading people's files.*\| (\d+) MB more", page, re.MULTILINE)
    _, container = pod_of(the("Deployment"))
    requested, limit = (mebibytes(container["resources"][name]["memory"]) for name in ("requests", "limits"))

    assert requested >= int(busy) + int(files)
    assert limit * 2**20 > AT_ONCE * MEMORY + (int(busy) + int(files)) * 1_000_000, "readers of documents are killed"


@each("kind", ["Deployment", "StatefulSet"])
def test_pods_have_minimal_privileges(kind: str) -> None:
    """The Pod Security Standard *restricted*, no token, and nothing to write to but volumes."""
    pod, container = pod_of(next(one for _, one in RESOURCES if one["kind"] == kind))

    assert pod["automountServiceAccountToken"] is False
    assert pod["enableServiceLinks"] is False, "a Service called bridge would set BRIDGE_PORT"
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert all({"emptyDir", "projected", "secret"} & volume.keys() for volume in pod["volumes"])


def test_the_bridge_runs_as_the_images_user_in_the_version_that_the_page_builds() -> None:
    pod, container = pod_of(the("Deployment"))
    page = (docs_site.ROOT / "docs/how-to/kubernetes.md").read_text(encoding="utf-8")

    assert f"--uid {pod['securityContext']['runAsUser']} " in DOCKERFILE
    assert container["image"] == f"bridge:{__version__}"
    assert set(re.findall(r"/bridge:(\S+)", page)) == {__version__}
    assert the("ServiceAccount")["automountServiceAccountToken"] is False


def test_every_secret_setting_is_a_file() -> None:
    secret = {
        f"{field.alias}_FILE"
        for field in Settings.model_fields.values()
        if SecretStr in (field.annotation, *get_args(field.annotation))
    }
    [patched] = documents(KUBERNETES / "components/socket-mode/deployment.yaml")

    assert {entry["name"] for one in (the("Deployment"), patched) for entry in pod_of(one)[1]["env"]} == secret


@each(("overlay", "patch"), product(OVERLAYS, ("", "components/socket-mode/deployment.yaml")))
def test_the_secrets_are_files_that_the_bridge_reads(overlay: str, patch: str, tmp_path: Path) -> None:
    pod, container = pod_of(the("Deployment"))
    env = {entry["name"]: entry["value"] for entry in container["env"]}
    if patch:
        for entry in pod_of(documents(KUBERNETES / patch)[0])[1]["env"]:
            if entry.get("$patch") == "delete":
                del env[entry["name"]]
            else:
                env[entry["name"]] = entry["value"]
    [volume] = [one for one in pod["volumes"] if one["name"] == "secrets"]
    [mounted] = [one for one in container["volumeMounts"] if one["name"] == "secrets"]
    [given] = kustomization(KUBERNETES / "overlays" / overlay)["configMapGenerator"]
    [always] = kustomization(KUBERNETES / "base")["configMapGenerator"]
    environ = dict(line.split("=", 1) for line in [*always["literals"], *given["literals"]])
    contents = {"SLACK_BOT_TOKEN": "xoxb-1", "SLACK_APP_TOKEN": "xapp-1", "REDIS_URL": "rediss://redis:6379/0"}
    folder = tmp_path / f"{overlay}-{bool(patch)}"
    folder.mkdir()
    for name, value in env.items():
        secret = name.removesuffix("_FILE")
        assert value == f"{mounted['mountPath']}/{secret}"
        (folder / secret).write_text(contents.get(secret, "secret"), encoding="utf-8")
        environ[name] = str(folder / secret)

    settings = load(environ)

    assert [name for name in environ if name.removesuffix("_FILE") not in VARIABLES] == []
    assert unknown_variables(environ) == []
    assert (settings.slack_app_token is None) is not bool(patch)
    assert settings.redis_url.get_secret_value() == contents["REDIS_URL"]
    assert volume["projected"]["defaultMode"] == 0o440, "the group reads them, which is fsGroup"
    assert [one["secret"]["name"] for one in volume["projected"]["sources"]] == ["bridge", "bridge-redis"]
    assert container["envFrom"] == [{"configMapRef": {"name": given["name"]}}]
    assert given["name"] == always["name"]


def test_only_the_bridge_reaches_its_redis() -> None:
    redis, policy = the("StatefulSet", "bridge-redis"), the("NetworkPolicy", "bridge-redis")
    [port] = pod_of(redis)[1]["ports"]
    [rule], [added] = policy["spec"]["ingress"], documents(KUBERNETES / "overlays/own-redis/network-policy.yaml")[0]
    labels = redis["spec"]["template"]["metadata"]["labels"]

    assert redis["spec"]["selector"]["matchLabels"] == labels
    assert policy["spec"]["podSelector"]["matchLabels"] == labels
    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "egress" not in policy["spec"]
    assert rule["from"] == [
        {"podSelector": {"matchLabels": the("Deployment")["spec"]["template"]["metadata"]["labels"]}}
    ]
    assert [one["port"] for one in rule["ports"]] == [port["name"]]
    assert added["value"]["to"] == [{"podSelector": {"matchLabels": labels}}]
    assert [one["port"] for one in added["value"]["ports"]] == [port["containerPort"]]
    assert the("Service", "bridge-redis")["spec"]["selector"] == labels
    assert redis["spec"]["serviceName"] == the("Service", "bridge-redis")["metadata"]["name"]


async def test_its_redis_starts_durable_and_wants_the_password(tmp_path: Path) -> None:
    _, container = pod_of(the("StatefulSet", "bridge-redis"))
    [data] = [one["mountPath"] for one in container["volumeMounts"] if one["name"] == "data"]
    port = free_port()
    (tmp_path / "password").write_text("ab12", encoding="utf-8")
    here = {
        "redis-server": server_program(),
        "/run/secrets/redis": str(tmp_path),
        data: str(tmp_path),
        "6379": str(port),
    }
    script = re.sub("|".join(map(re.escape, here)), lambda place: here[place[0]], *container["args"])

    server = await asyncio.create_subprocess_exec(*container["command"], script, stdout=asyncio.subprocess.DEVNULL)
    try:
        at_once: Any = {"port": port, "retry": Retry(NoBackoff(), 0)}
        with Redis(password="ab12", **at_once) as client, Redis(**at_once) as stranger:
            await wait_until(lambda: _answers(client), "Redis answers")
            settings = client.config_get("append*", "maxmemory*", "save", "dir")
            with pytest.raises(AuthenticationError):
                stranger.ping()
    finally:
        server.terminate()

    assert await server.wait() == 0, "SIGTERM reaches the server, not a shell"
    assert (settings["appendonly"], settings["appendfsync"], settings["save"]) == ("yes", "always", "")
    assert settings["maxmemory-policy"] == "noeviction"
    assert settings["dir"] == str(tmp_path)
    assert 2 * int(settings["maxmemory"]) < mebibytes(container["resources"]["limits"]["memory"]) * 2**20
    assert container["image"] == COMPOSE["redis"]["image"]


async def _answers(client: Redis) -> bool:
    try:
        return bool(client.ping())
    except NoConnection:
        return False
