"""Generates the client stubs from proto/ with grpcio-tools, like any caller of the service."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from pathlib import Path

import grpc_tools
from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent.parent


def install() -> None:
    """Makes `latchkey.v1.*_pb2` importable, from a folder that is removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="latchkey-stubs-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    proto = ROOT / "proto"
    sources = sorted(proto.glob("latchkey/v1/*.proto"))
    wellknown = Path(grpc_tools.__file__).parent / "_proto"
    code = protoc.main(["protoc", f"-I{proto}", f"-I{wellknown}", f"--python_out={folder}",
                        f"--grpc_python_out={folder}", *map(str, sources)])
    if code:
        raise RuntimeError("grpcio-tools could not make stubs from proto/")
    sys.path.insert(0, str(folder))
