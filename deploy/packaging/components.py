"""Writes the components of a release as an SPDX 2.3 document: the programs, the Swift packages and the runtime that are
linked into them, the Debian libraries that they load, and all Debian packages of the image."""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import subprocess
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PROGRAMS = ("usr/sbin/latchkeyd", "usr/bin/latchkey", "usr/bin/latchkey-load")
# The load generator uses these; the others are in every program.
LOAD_ONLY = {"hdrhistogram-swift", "swift-numerics"}
WITH_EXCEPTION = {"swift-argument-parser", "swift-numerics", "swift"}


class Document:
    def __init__(self, name: str, key: str) -> None:
        made = datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), UTC)
        self.content: dict[str, Any] = {
            "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
            # The same release has the same name, in each build of it.
            "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{uuid.uuid5(uuid.NAMESPACE_URL, key)}",
            "creationInfo": {"created": made.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: latchkey-package"]},
            "packages": [], "relationships": [],
        }

    def package(self, kind: str, name: str, version: str, **more: Any) -> str:
        identity = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", f"{kind}-{name}")
        self.content["packages"].append({
            "SPDXID": identity, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION",
            "filesAnalyzed": False, "licenseConcluded": "NOASSERTION", "licenseDeclared": "NOASSERTION",
            "copyrightText": "NOASSERTION", **more})
        return identity

    def relate(self, one: str, kind: str, other: str) -> None:
        self.content["relationships"].append(
            {"spdxElementId": one, "relationshipType": kind, "relatedSpdxElement": other})


def checksum(algorithm: str, content: bytes) -> dict[str, str]:
    return {"algorithm": algorithm, "checksumValue": hashlib.new(algorithm.lower(), content).hexdigest()}


def reference(purl: str) -> list[dict[str, str]]:
    return [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}]


def artefact(document: Document, kind: str, path: Path, version: str) -> str:
    identity = document.package(
        kind, "latchkey", version, packageFileName=path.name, checksums=[checksum("SHA256", path.read_bytes())])
    document.relate("SPDXRef-DOCUMENT", "DESCRIBES", identity)
    return identity


def swift_packages(document: Document, resolved: Path) -> dict[str, str]:
    """The packages of Package.resolved, and the runtime."""
    found = {}
    for pin in json.loads(resolved.read_text())["pins"]:
        name, address, state = pin["identity"], pin["location"].removesuffix(".git"), pin["state"]
        found[name] = document.package(
            "Swift", name, state["version"], downloadLocation=f"git+{address}@{state['revision']}",
            externalRefs=reference(f"pkg:swift/{address.removeprefix('https://')}@{state['version']}"),
            licenseDeclared=license_of(name))
    version = subprocess.run(["swift", "--version"], check=True, capture_output=True, text=True).stdout
    [number] = re.findall(r"Swift version (\S+)", version)
    found["swift"] = document.package("Swift", "swift", number, licenseDeclared=license_of("swift"),
                                      downloadLocation=f"git+https://github.com/swiftlang/swift@swift-{number}-RELEASE")
    return found


def common_passwords(document: Document, source: Path) -> str:
    """The list of common passwords that latchkeyd contains. The first line of its source names package and version."""
    [version] = re.findall(r"python3-zxcvbn (\S+)", source.read_text().splitlines()[0])
    return document.package(
        "Data", "python3-zxcvbn", version, licenseDeclared="MIT", sourceInfo="its list of common passwords",
        externalRefs=reference(f"pkg:deb/debian/python3-zxcvbn@{version}"))


def license_of(name: str) -> str:
    return "Apache-2.0 WITH Swift-exception" if name in WITH_EXCEPTION else "Apache-2.0"


def debian_packages(document: Document, root: Path, wanted: set[str] | None) -> dict[str, str]:
    """The wanted packages that are installed below `root`, or all of them."""
    listed = subprocess.run(
        ["dpkg-query", f"--admindir={root}/var/lib/dpkg", "--show", "--showformat",
         "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}\t${db:Status-Abbrev}\n"],
        check=True, capture_output=True, text=True).stdout
    system = dict(re.findall(r'^(\w+)="?([^"\n]*)"?$', (root / "etc/os-release").read_text(), re.MULTILINE))
    found = {}
    for line in listed.splitlines():
        name, version, architecture, source, source_version, status = line.split("\t")
        if not status.startswith("ii") or (wanted is not None and name not in wanted):
            continue
        purl = f"pkg:deb/debian/{name}@{version}?arch={architecture}&distro=debian-{system['VERSION_ID']}"
        found[name] = document.package("Debian", name, version, externalRefs=reference(purl.replace("+", "%2B")),
                                       sourceInfo=f"built from {source} {source_version}")
    missing = (wanted or set()) - found.keys()
    if missing:
        raise SystemExit(f"not installed below {root}: {', '.join(sorted(missing))}")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    for name in ("--package", "--programs", "--resolved", "--to"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--libraries", required=True, help="Debian packages, with commas between them")
    parser.add_argument("--image", type=Path)
    parser.add_argument("--root", type=Path, default=Path("/"), help="file system whose packages have the versions")
    given = parser.parse_args()
    libraries = set(given.libraries.split(","))
    files = {path: (given.programs / path).read_bytes() for path in PROGRAMS}
    key = hashlib.sha256(b"".join(files.values())).hexdigest()
    document = Document(f"latchkey-{given.version}", key)
    package = artefact(document, "Package", given.package, given.version)
    linked = swift_packages(document, given.resolved)
    loaded = debian_packages(document, given.root, None if given.image else libraries)
    passwords = common_passwords(
        document, given.resolved.resolve().parent / "Sources/Crypto/Generated/CommonPasswordList.swift")
    image = artefact(document, "Image", given.image, given.version) if given.image else None
    for path, content in files.items():
        program = document.package(
            "Program", path.rsplit("/", 1)[1], given.version, packageFileName=path,
            primaryPackagePurpose="APPLICATION", checksums=[checksum("SHA256", content)])
        document.relate(package, "CONTAINS", program)
        if image:
            document.relate(image, "CONTAINS", program)
        for name, identity in linked.items():
            if name not in LOAD_ONLY or path.endswith("-load"):
                document.relate(program, "STATIC_LINK", identity)
        if path.endswith("latchkeyd"):
            document.relate(program, "CONTAINS", passwords)
    for name in sorted(libraries):
        document.relate(package, "DEPENDS_ON", loaded[name])
    if image:
        for identity in loaded.values():
            document.relate(image, "CONTAINS", identity)
    given.to.write_text(json.dumps(document.content, indent=1) + "\n")


if __name__ == "__main__":
    main()
