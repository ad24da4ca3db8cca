"""The dynamic symbols of the server show that it replaces no function of a library and calls no deprecated one."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

import server as servers

# Functions that install other implementations of what a library does itself.
REPLACING = re.compile(
    r"sqlite3_vfs_register|CRYPTO_set_mem_functions|curl_global_init_mem|RSA_meth_\w+|EC_KEY_METHOD_\w+"
    r"|EVP_PKEY_meth_\w+|EVP_MD_meth_\w+|EVP_CIPHER_meth_\w+|BIO_meth_\w+|ENGINE_\w+|OSSL_PROVIDER_add_builtin"
    r"|randombytes_set_implementation")


def symbols(program: Path, which: str) -> set[str]:
    listed = subprocess.run(["nm", "-D", which, program], check=True, capture_output=True, text=True).stdout
    return {line.split()[-1].partition("@")[0] for line in listed.splitlines() if line.strip()}


def libraries(program: Path) -> list[Path]:
    listed = subprocess.run(["ldd", program], check=True, capture_output=True, text=True).stdout
    return [Path(path) for path in re.findall(r"=> (/\S+)", listed)]


@pytest.fixture(scope="module")
def called() -> set[str]:
    return symbols(servers.LATCHKEYD, "--undefined-only")


def test_the_server_exports_no_function_that_a_library_also_exports() -> None:
    exported = symbols(servers.LATCHKEYD, "--defined-only")
    found = libraries(servers.LATCHKEYD)
    assert any(library.name.startswith("libcrypto.") for library in found)
    replaced = {library.name: sorted(exported & symbols(library, "--defined-only")) for library in found}
    # Swift's runtime is linked into the program. Templates of the C++ library that it uses are in both.
    replaced = {name: both for name, both in replaced.items() if both and not name.startswith("libstdc++")}
    assert replaced == {}


def test_the_server_calls_no_function_that_openssl_declares_deprecated(called: set[str]) -> None:
    declared = subprocess.run(
        ["gcc", "-E", "-dD", "-"], check=True, capture_output=True, text=True,
        input="#include <openssl/opensslconf.h>\n").stdout
    headers = {Path(path).parent for path in re.findall(r'"(/\S+/openssl/\w+\.h)"', declared)}
    deprecated = {
        name
        for folder in headers for header in folder.glob("*.h")
        for statement in re.findall(r"OSSL_DEPRECATEDIN_\w+(?:_FOR\([^)]*\))?([^;{]*);", header.read_text())
        for name in re.findall(r"(\w+)\s*\(", statement)[:1]
    }
    assert {"RSA_new", "EC_KEY_new", "HMAC_CTX_new", "SHA256_Init"} <= deprecated
    assert {name for name in called if name.startswith("EVP_")}
    assert called & deprecated == set()


def test_the_server_installs_no_implementation_of_its_own_in_a_library(called: set[str]) -> None:
    assert {name for name in called if REPLACING.fullmatch(name)} == set()
