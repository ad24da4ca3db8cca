"""Adds to each build the stubs of proto/latchkey/v1 and the service configuration. pyproject.toml has all else."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PROTO = Path(__file__).resolve().parents[3] / "proto"


class BuildWithStubs(build_py):
    def run(self) -> None:
        super().run()
        import grpc_tools
        from grpc_tools import protoc

        folder = Path(self.build_lib)
        # An earlier build may have left the stubs of a file that no longer exists.
        shutil.rmtree(folder / "latchkey/v1", ignore_errors=True)
        wellknown = Path(grpc_tools.__file__).parent / "_proto"
        files = [str(each) for each in sorted((PROTO / "latchkey/v1").glob("*.proto"))]
        if protoc.main(["protoc", f"-I{PROTO}", f"-I{wellknown}", f"--python_out={folder}", f"--pyi_out={folder}",
                        f"--grpc_python_out={folder}", *files]):
            raise SystemExit("protoc failed")
        shutil.copy(PROTO / "service-config.json", folder / "latchkey")


setup(cmdclass={"build_py": BuildWithStubs})
