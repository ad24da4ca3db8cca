"""The container file and the Kubernetes manifests in deploy/. These tests build no image (deploy/package --test does)
and run no cluster; they compare the files with the server, with its package and with its configuration."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from paths import ROOT
from ports import free_port
from processes import LATCHKEYD, Server, longest_end, standard

PACKAGING = ROOT / "deploy/packaging"
CONTAINERFILE = (PACKAGING / "Containerfile").read_text()
OVERLAYS = ("embedded", "postgres")
PORTS = {"calls": "listen.port", "keys": "keys.port", "metrics": "metrics.port"}
LABELS = {"app.kubernetes.io/name": "latchkey"}
# Replacements from the tests for the files that must not be committed.
FILES = {"tls.crt": "server.pem", "tls.key": "server.key", "ca.crt": "authority.pem", "callers.pem": "authority.pem",
         "db.pem": "authority.pem", "master.key": "master.key", "database.password": "master.key"}


class Overlay:
    """The objects of an overlay, as kubectl builds them."""

    def __init__(self, name: str) -> None:
        self.folder = ROOT / "deploy/kubernetes/overlays" / name
        self.objects: list[Any] = list(yaml.safe_load_all(built(self.folder)))

    def __repr__(self) -> str:
        return self.folder.name

    def object(self, kind: str, name: str = "latchkey") -> Any:
        # The generated name of the configuration ends with a digest.
        found = [each for each in self.objects
                 if each["kind"] == kind and re.fullmatch(rf"{name}(-[a-z0-9]{{10}})?", each["metadata"]["name"])]
        assert len(found) == 1, f"{kind} {name}"
        return found[0]

    @property
    def pod(self) -> Any:
        return self.object("Deployment")["spec"]["template"]["spec"]

    @property
    def container(self) -> Any:
        [only] = self.pod["containers"]
        return only

    def made(self) -> dict[str, list[str]]:
        """The files of each object in the comment's commands, by the object's name."""
        commands = re.sub(r" \\\n#", "", (self.folder / "kustomization.yaml").read_text())
        listed = re.findall(r"^#\s+kubectl create (?:secret generic|configmap) (\S+)(.*)$", commands, re.MULTILINE)
        return {name: re.findall(r"--from-file=(\S+)", options) for name, options in listed}


@cache
def built(folder: Path) -> str:
    """kubectl is in the Python environment."""
    return output(Path(sys.executable).with_name("kubectl"), "kustomize", folder)


@pytest.fixture(scope="module", params=OVERLAYS)
def overlay(request: pytest.FixtureRequest) -> Overlay:
    return Overlay(request.param)


def instruction(name: str) -> str:
    [text] = re.findall(rf"^{name} (.+)$", CONTAINERFILE, re.MULTILINE)
    return str(text)


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


# The image.

def test_image_and_manifests_agree_and_contain_no_root_user_and_no_secret(overlay: Overlay) -> None:
    user, group = map(int, instruction("USER").split(":"))
    assert user > 0
    assert f"--uid {user} " in (ROOT / "deploy/package").read_text()
    security = overlay.pod["securityContext"]
    assert security["runAsNonRoot"] and security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert [security[name] for name in ("runAsUser", "runAsGroup", "fsGroup")] == [user, group, group]
    assert overlay.container["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    ports = {each["name"]: each["containerPort"] for each in overlay.container["ports"]}
    assert ports == {name: standard(setting) for name, setting in PORTS.items()}
    assert sorted(ports.values()) == sorted(map(int, instruction("EXPOSE").split()))
    [place] = [each["mountPath"] for each in overlay.container["volumeMounts"] if each["name"] == "configuration"]
    [file] = overlay.object("ConfigMap", "latchkey-configuration")["data"]
    assert yaml.safe_load(instruction("CMD")) == ["--config", f"{place}/{file}"]
    assert not re.findall(r"^(ENV|ARG|COPY|RUN) ", CONTAINERFILE, re.MULTILINE)
    for each in overlay.objects:
        assert each["kind"] != "Secret" and "namespace" not in each["metadata"]


# The manifests.

# Its schemas do not include the objects of the Prometheus operator.
KNOWN = "1.37"


def test_the_manifests_fit_the_schemas_of_kubernetes(overlay: Overlay) -> None:
    checked = 0
    for each in overlay.objects:
        if each["apiVersion"].startswith("monitoring.coreos.com/"):
            continue
        kubernetes_validate.validate(each, KNOWN, strict=True)
        checked += 1
    assert checked >= 6
    wrong = overlay.object("Deployment") | {"spec": overlay.object("Deployment")["spec"] | {"replica": 1}}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, KNOWN, strict=True)


@pytest.fixture(scope="module")
def mounted(overlay: Overlay, folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pod's files below this folder, in the layout of Kubernetes and with the modes that `fsGroup` sets."""
    root = tmp_path_factory.mktemp("pod")
    places = {each["name"]: each["mountPath"] for each in overlay.container["volumeMounts"]}
    for volume in overlay.pod["volumes"]:
        [kind] = volume.keys() - {"name"}
        source = volume[kind]
        if kind == "persistentVolumeClaim":
            (root / places[volume["name"]].lstrip("/")).mkdir(parents=True, mode=0o700)
            continue
        name = source.get("secretName") or source["name"]
        if name not in overlay.made():
            [(file, text)] = overlay.object("ConfigMap", name)["data"].items()
            contents = {file: re.sub(r"(?<=[\"=])(?=/run/latchkey/)", str(root), text).encode()}
        else:
            contents = {file: (folder / FILES[file]).read_bytes() for file in overlay.made()[name]}
        place = root / places[volume["name"]].lstrip("/")
        version = place / "..2026_11_21_00_00_00.1"
        version.mkdir(parents=True)
        (place / "..data").symlink_to(version.name)
        for file, content in contents.items():
            (version / file).write_bytes(content)
            # A volume that is only read gives the group the right to read.
            (version / file).chmod(source.get("defaultMode", 0o644) | 0o440)
            (place / file).symlink_to(f"..data/{file}")
    return root


def environment(overlay: Overlay, root: Path, **more: str) -> dict[str, str]:
    """The pod's own variables, with the folder that replaces its root. A number of cores is the requested number."""
    cores = str(int(overlay.container["resources"]["requests"]["cpu"]))
    variables = {}
    for each in overlay.container["env"]:
        if "valueFrom" in each:
            assert each["valueFrom"] == {"resourceFieldRef": {"resource": "requests.cpu"}}
        variables[each["name"]] = re.sub(r"(?<=^)/|(?<==)/", f"{root}/", each["value"]) if "value" in each else cores
    return {"PATH": os.environ["PATH"], **variables, **more}


def test_a_pod_can_use_its_configuration_and_secrets(overlay: Overlay, mounted: Path) -> None:
    checked = subprocess.run([LATCHKEYD, "--config", mounted / "etc/latchkey/latchkey.json5", "--check-config"],
                             capture_output=True, text=True, check=False, env=environment(overlay, mounted))
    assert checked.returncode == 0, checked.stderr
    # Only the group's right to read makes them readable for a user other than root: see the manifest.
    assert checked.stderr == ""


def test_every_variable_belongs_to_a_setting(overlay: Overlay) -> None:
    listed = re.findall(r"^(\S+) = ", output(LATCHKEYD, "--list-settings"), re.MULTILINE)
    settings = {"LATCHKEY_" + name.replace(".", "_").upper() for name in listed}
    assert {each["name"] for each in overlay.container["env"]} <= settings


def test_a_server_as_the_pod_runs_it_answers_the_probes(overlay: Overlay, running: dict[str, str]) -> None:
    for name in ("readinessProbe", "startupProbe", "livenessProbe"):
        asked = overlay.container[name]["httpGet"]
        with urllib.request.urlopen(f"http://{running[asked['port']]}{asked['path']}", timeout=10) as answer:
            assert answer.status == 200


@pytest.fixture
def running(overlay: Overlay, mounted: Path) -> Iterator[dict[str, str]]:
    """The addresses of a server with the pod's configuration, from its log; on loopback and with a file."""
    here = {f"LATCHKEY_{name}_ADDRESS": "127.0.0.1" for name in ("LISTEN", "KEYS", "METRICS")}
    ports = {"LATCHKEY_LISTEN_PORT": str(free_port()), "LATCHKEY_KEYS_PORT": "0", "LATCHKEY_METRICS_PORT": "0"}
    store = {"LATCHKEY_STORE_POSTGRES_CONNINFO": "", "LATCHKEY_STORE_POSTGRES_PASSWORD_FILE": "",
             "LATCHKEY_STORE_PATH": str(mounted / "latchkey.db"), "LATCHKEY_STORE_BACKUP_FOLDER": ""}
    variables = environment(overlay, mounted, **here, **ports, **store)
    with subprocess.Popen([LATCHKEYD, "--config", mounted / "etc/latchkey/latchkey.json5"], stderr=subprocess.PIPE,
                          text=True, env=variables) as process:
        assert process.stderr is not None
        places: dict[str, str] = {}
        for line in process.stderr:
            record = yaml.safe_load(line) if line.startswith("{") else {"message": line}
            places[record["message"]] = record.get("address", "")
            if record["message"] == "listening":
                break
        assert "listening" in places, places
        yield places
        process.terminate()
        process.communicate(timeout=20)


def test_a_pod_and_a_container_have_time_for_a_drain(serve: Callable[..., Server], overlay: Overlay) -> None:
    server = serve()
    server.stop()
    [configuration] = overlay.object("ConfigMap", "latchkey-configuration")["data"].values()
    assert "drain_seconds" not in configuration, "the check below uses the default"
    sleep = overlay.container["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert overlay.pod["terminationGracePeriodSeconds"] > sleep + longest_end(server)
    [told] = re.findall(r"--stop-timeout (\d+)", CONTAINERFILE)
    assert int(told) > longest_end(server) and instruction("STOPSIGNAL") == "SIGTERM"
    startup = overlay.container["startupProbe"]
    assert startup["failureThreshold"] * startup["periodSeconds"] > 300, "a server waits that long for tables in use"


def test_services_policy_and_monitor_select_the_pods_and_their_ports(overlay: Overlay) -> None:
    deployment, policy = overlay.object("Deployment")["spec"], overlay.object("NetworkPolicy")["spec"]
    monitor = overlay.object("PodMonitor")["spec"]
    assert deployment["template"]["metadata"]["labels"] == deployment["selector"]["matchLabels"] == LABELS
    assert policy["podSelector"] == monitor["selector"] == {"matchLabels": LABELS}
    assert all(each["metadata"]["labels"] == LABELS for each in overlay.objects)
    ports = {each["name"]: each["containerPort"] for each in overlay.container["ports"]}
    for name in ("latchkey", "latchkey-keys"):
        service = overlay.object("Service", name)["spec"]
        assert service["selector"] == LABELS
        assert all(each["port"] == ports[each["targetPort"]] for each in service["ports"])
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports.keys()
    assert policy["policyTypes"] == ["Ingress", "Egress"] and all("from" in rule for rule in policy["ingress"])
    [endpoint] = monitor["podMetricsEndpoints"]
    assert (endpoint["port"], endpoint["path"]) == ("metrics", "/metrics") and monitor["jobLabel"] in LABELS


def test_a_server_with_an_embedded_store_has_no_second_one_at_its_volume() -> None:
    overlay = Overlay("embedded")
    deployment, volume = overlay.object("Deployment")["spec"], overlay.object("PersistentVolumeClaim", "latchkey-store")
    assert (deployment["replicas"], deployment["strategy"]) == (1, {"type": "Recreate"})
    assert volume["spec"]["accessModes"] == ["ReadWriteOncePod"]
    [place] = [each["mountPath"] for each in overlay.container["volumeMounts"] if each["name"] == "store"]
    assert place == instruction("VOLUME")
    values = {each["name"]: each.get("value", "") for each in overlay.container["env"]}
    assert all(values[f"LATCHKEY_STORE_{name}"].startswith(f"{place}/") for name in ("PATH", "BACKUP_FOLDER"))


def test_replicas_on_postgres_are_scaled_spread_and_drained_one_at_a_time() -> None:
    overlay = Overlay("postgres")
    deployment, scaler = overlay.object("Deployment")["spec"], overlay.object("HorizontalPodAutoscaler")["spec"]
    assert "replicas" not in deployment, "each `apply` would undo the autoscaler's number"
    assert scaler["scaleTargetRef"] == {"apiVersion": "apps/v1", "kind": "Deployment", "name": "latchkey"}
    assert 2 <= scaler["minReplicas"] < scaler["maxReplicas"]
    assert [each["resource"]["name"] for each in scaler["metrics"]] == ["cpu"]
    assert deployment["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    spread = overlay.pod["topologySpreadConstraints"]
    assert [each["topologyKey"] for each in spread] == ["topology.kubernetes.io/zone", "kubernetes.io/hostname"]
    budget = overlay.object("PodDisruptionBudget")["spec"]
    assert budget["maxUnavailable"] == 1
    database = overlay.object("NetworkPolicy", "latchkey-database")["spec"]
    selectors = [budget["selector"], database["podSelector"], *(each["labelSelector"] for each in spread)]
    assert all(each == {"matchLabels": LABELS} for each in selectors)
