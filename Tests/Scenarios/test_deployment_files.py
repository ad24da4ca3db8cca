"""The container file and the Kubernetes manifests in deploy/. The tests build no image and run no cluster; they compare
the files with the server, with the packages of its libraries, and with its configuration."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from paths import ROOT
from ports import free_port
from processes import LATCHKEYD, Server, longest_end, standard

CONTAINERFILE = (ROOT / "deploy/Containerfile").read_text()
MANIFESTS = "\n---\n".join(path.read_text() for path in sorted((ROOT / "deploy/kubernetes").glob("*.yaml")))
LATCHKEY = LATCHKEYD.parent / "latchkey"
PORTS = {"calls": "listen.port", "keys": "keys.port", "metrics": "metrics.port"}
LABELS = {"app.kubernetes.io/name": "latchkey"}
# Replacements from the tests for the files that must not be committed.
FILES = {"tls.crt": "server.pem", "tls.key": "server.key", "ca.crt": "authority.pem", "callers.pem": "authority.pem",
         "db.pem": "authority.pem", "master.key": "master.key", "database.password": "master.key"}


def manifest(kind: str, name: str = "latchkey") -> Any:
    found = [each for each in yaml.safe_load_all(MANIFESTS)
             if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    assert len(found) == 1, f"{kind} {name}"
    return found[0]


def pod() -> Any:
    return manifest("Deployment")["spec"]["template"]["spec"]


def container() -> Any:
    [only] = pod()["containers"]
    return only


def instruction(name: str) -> str:
    """An instruction of the shipped image, which is the last stage."""
    [text] = re.findall(rf"^{name} (.+)$", stages()[1], re.MULTILINE)
    return str(text)


def stages() -> list[str]:
    """The stages, without comments, and with each instruction on one line."""
    text = re.sub(r"^\s*#.*\n", "", CONTAINERFILE, flags=re.MULTILINE).replace("\\\n", " ")
    return re.split(r"^(?=FROM )", text, flags=re.MULTILINE)[1:]


# The image.

def test_the_image_uses_the_same_swift_and_packages_as_the_scripts() -> None:
    building, shipped = stages()
    prepare = (ROOT / "deploy/prepare.sh").read_text()
    [swift] = re.findall(r"Swift ([\d.]+) is not on the PATH", prepare)
    assert re.match(rf"FROM docker\.io/library/swift:{re.escape(swift)}[\d.]*-bookworm AS build\n", building)
    assert shipped.startswith("FROM docker.io/library/debian:bookworm-slim\n")
    # The list itself, not a copy of it. Only install_packages installs packages.
    assert """RUN bash -c 'source deploy/prepare.sh && install_packages "${build_packages[@]}"'\n""" in building
    assert "apt-get" not in building
    copied = re.findall(r"^COPY (\S+) ", building, re.MULTILINE)
    let_in = re.findall(r"^!(\S+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE)
    assert sorted(copied) == sorted(let_in) and all((ROOT / name).exists() for name in copied)


@pytest.mark.skipif("bookworm" not in Path("/etc/os-release").read_text(), reason="libraries have other names here")
def test_the_image_has_exactly_the_libraries_that_the_server_is_linked_to() -> None:
    [line] = re.findall(r"apt-get install (.*?) &&", stages()[1])
    installed = {word for word in line.split() if not word.startswith("-")}
    # Every Debian image has the C library; authorities are not a library.
    assert installed == (packages(LATCHKEYD) | packages(LATCHKEY)) - {"libc6"} | {"ca-certificates"}


def packages(binary: Path) -> set[str]:
    """Debian packages of its libraries, and of the libraries of those without a package, such as Swift's."""
    loaded = dict(re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", binary), re.MULTILINE))
    found, seen, waiting = set(), set(), [str(binary)]
    while waiting:
        for name in re.findall(r"\(NEEDED\).*\[(.+)\]", output("readelf", "-dW", waiting.pop())):
            if name in seen or name not in loaded:
                continue
            seen.add(name)
            package = owner(loaded[name])
            if package:
                found.add(package)
            else:
                waiting.append(loaded[name])
    return found


@cache
def owner(path: str) -> str | None:
    """The package that installed it, below /usr or below a link to /usr."""
    for name in (path, "/usr" + path):
        told = subprocess.run(["dpkg-query", "--search", name], capture_output=True, text=True, check=False)
        if told.returncode == 0:
            return told.stdout.split(":")[0]
    return None


def output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_image_and_manifests_agree_and_contain_no_root_user_and_no_secret() -> None:
    user, group = map(int, instruction("USER").split(":"))
    assert user > 0
    security = pod()["securityContext"]
    assert security["runAsNonRoot"] and security["seccompProfile"] == {"type": "RuntimeDefault"}
    assert [security[name] for name in ("runAsUser", "runAsGroup", "fsGroup")] == [user, group, group]
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}}
    ports = {each["name"]: each["containerPort"] for each in container()["ports"]}
    assert ports == {name: standard(setting) for name, setting in PORTS.items()}
    assert sorted(ports.values()) == sorted(map(int, instruction("EXPOSE").split()))
    [place] = [each["mountPath"] for each in container()["volumeMounts"] if each["name"] == "configuration"]
    [file] = manifest("ConfigMap", "latchkey-configuration")["data"]
    assert yaml.safe_load(instruction("CMD")) == ["--config", f"{place}/{file}"]
    assert yaml.safe_load(instruction("ENTRYPOINT")) == ["/usr/local/bin/latchkeyd"]
    assert not re.findall(r"^(ENV|ARG|ADD) ", CONTAINERFILE, re.MULTILINE)
    for each in yaml.safe_load_all(MANIFESTS):
        assert each["kind"] != "Secret" and "namespace" not in each["metadata"]


# The manifests.

def made() -> dict[str, list[str]]:
    """The files of each object in the comment's commands, by the object's name."""
    commands = re.sub(r" \\\n#", "", MANIFESTS)
    told = re.findall(r"^#\s+kubectl create (?:secret generic|configmap) (\S+)(.*)$", commands, re.MULTILINE)
    return {name: re.findall(r"--from-file=(\S+)", options) for name, options in told}


@pytest.fixture(scope="module")
def mounted(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The pod's files below this folder, in the layout of Kubernetes and with the modes that `fsGroup` sets."""
    root = tmp_path_factory.mktemp("pod")
    places = {each["name"]: each["mountPath"] for each in container()["volumeMounts"]}
    for volume in pod()["volumes"]:
        [kind] = volume.keys() - {"name"}
        source = volume[kind]
        name = source.get("secretName") or source["name"]
        if name not in made():
            [(file, text)] = manifest("ConfigMap", name)["data"].items()
            contents = {file: re.sub(r"(?<=[\"=])(?=/run/latchkey/)", str(root), text).encode()}
        else:
            contents = {file: (folder / FILES[file]).read_bytes() for file in made()[name]}
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


def environment(**more: str) -> dict[str, str]:
    """The pod's own variables. A number of cores is the requested number."""
    cores = str(int(container()["resources"]["requests"]["cpu"]))
    sources = {each["name"]: each["valueFrom"] for each in container()["env"]}
    assert all(source == {"resourceFieldRef": {"resource": "requests.cpu"}} for source in sources.values())
    return {"PATH": os.environ["PATH"], **dict.fromkeys(sources, cores), **more}


def test_a_pod_can_use_its_configuration_and_secrets(mounted: Path) -> None:
    checked = subprocess.run([LATCHKEYD, "--config", mounted / "etc/latchkey/latchkey.json5", "--check-config"],
                             capture_output=True, text=True, check=False, env=environment())
    assert checked.returncode == 0, checked.stderr
    # Only the group's right to read makes them readable for a user other than root: see the manifest.
    assert checked.stderr == ""


def test_every_variable_belongs_to_a_setting() -> None:
    listed = re.findall(r"^(\S+) = ", output(LATCHKEYD, "--list-settings"), re.MULTILINE)
    settings = {"LATCHKEY_" + name.replace(".", "_").upper() for name in listed}
    assert environment().keys() - {"PATH"} <= settings


def test_a_server_as_the_pod_runs_it_answers_the_probes(running: dict[str, str], mounted: Path) -> None:
    probe = container()["readinessProbe"]["exec"]["command"]
    assert probe == container()["startupProbe"]["exec"]["command"] and probe[0] == LATCHKEY.name
    server, authority = (probe[probe.index(option) + 1] for option in ("--server", "--ca"))
    [alias] = pod()["hostAliases"]
    assert alias == {"ip": "127.0.0.1", "hostnames": [server.removesuffix(f":{standard('listen.port')}")]}
    asked = container()["livenessProbe"]["httpGet"]
    with urllib.request.urlopen(f"http://{running[asked['port']]}{asked['path']}", timeout=10) as answer:
        assert answer.status == 200
    # The tests' certificate is for localhost, with a free port.
    here = {server: "localhost:" + running["listening"].rsplit(":", 1)[1], authority: f"{mounted}{authority}",
            LATCHKEY.name: str(LATCHKEY)}
    # The kubelet waits for less time, but this machine may be busier than a node.
    assert float(probe[probe.index("--timeout") + 1]) < container()["readinessProbe"]["timeoutSeconds"]
    ended = subprocess.run([here.get(word, word) for word in probe], capture_output=True, text=True, check=False,
                           env=environment(), timeout=20)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.fixture
def running(mounted: Path) -> Iterator[dict[str, str]]:
    """The addresses of a server with the pod's configuration, from its log; on loopback and with a file."""
    here = {f"LATCHKEY_{name}_ADDRESS": "127.0.0.1" for name in ("LISTEN", "KEYS", "METRICS")}
    ports = {"LATCHKEY_LISTEN_PORT": str(free_port()), "LATCHKEY_KEYS_PORT": "0", "LATCHKEY_METRICS_PORT": "0"}
    store = {"LATCHKEY_STORE_POSTGRES_CONNINFO": "", "LATCHKEY_STORE_POSTGRES_PASSWORD_FILE": "",
             "LATCHKEY_STORE_PATH": str(mounted / "latchkey.db")}
    with subprocess.Popen([LATCHKEYD, "--config", mounted / "etc/latchkey/latchkey.json5"], stderr=subprocess.PIPE,
                          text=True, env=environment(**here, **ports, **store)) as process:
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


def test_a_pod_and_a_container_have_time_for_a_drain(serve: Callable[..., Server]) -> None:
    server = serve()
    server.stop()
    assert "drain_seconds" not in MANIFESTS.split("kind: Deployment")[0], "the check below uses the default"
    sleep = container()["lifecycle"]["preStop"]["sleep"]["seconds"]
    assert pod()["terminationGracePeriodSeconds"] > sleep + longest_end(server)
    [told] = re.findall(r"--stop-timeout (\d+)", CONTAINERFILE)
    assert int(told) > longest_end(server) and instruction("STOPSIGNAL") == "SIGTERM"
    startup = container()["startupProbe"]
    assert startup["failureThreshold"] * startup["periodSeconds"] > 300, "a server waits that long for tables in use"


def test_services_policy_and_budget_select_the_pods_and_their_ports() -> None:
    deployment, policy = manifest("Deployment")["spec"], manifest("NetworkPolicy")["spec"]
    assert deployment["template"]["metadata"]["labels"] == deployment["selector"]["matchLabels"] == LABELS
    assert policy["podSelector"] == manifest("PodDisruptionBudget")["spec"]["selector"] == {"matchLabels": LABELS}
    ports = {each["name"]: each["containerPort"] for each in container()["ports"]}
    for name in ("latchkey", "latchkey-keys"):
        service = manifest("Service", name)["spec"]
        assert service["selector"] == LABELS
        assert all(each["port"] == ports[each["targetPort"]] for each in service["ports"])
    assert {port["port"] for rule in policy["ingress"] for port in rule["ports"]} == ports.keys()
    assert policy["policyTypes"] == ["Ingress", "Egress"] and all("from" in rule for rule in policy["ingress"])
