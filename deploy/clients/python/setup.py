"""Adds to each build the stubs of the two packages and the service configuration. pyproject.toml has all else."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PROTO = Path(__file__).resolve().parents[3] / "proto"
PACKAGES = ("latchkey/v1", "latchkey/hooks/v1")


class BuildWithStubs(build_py):
    def run(self) -> None:
        super().run()
        import grpc_tools
        from grpc_tools import protoc

        folder = Path(self.build_lib)
        # An earlier build may have left the stubs of a file that no longer exists.
        for package in PACKAGES:
            shutil.rmtree(folder / package, ignore_errors=True)
        wellknown = Path(grpc_tools.__file__).parent / "_proto"
        files = [str(each) for package in PACKAGES for each in sorted((PROTO / package).glob("*.proto"))]
        if protoc.main(["protoc", f"-I{PROTO}", f"-I{wellknown}", f"--python_out={folder}", f"--pyi_out={folder}",
                        f"--grpc_python_out={folder}", *files]):
            raise SystemExit("protoc failed")
        shutil.copy(PROTO / "service-config.json", folder / "latchkey")


setup(cmdclass={"build_py": BuildWithStubs})
