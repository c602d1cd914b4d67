"""What a release is made of, built from a copy of what is here, without a network."""

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The files of a checkout that a build reads; the tests are not among them.
PACKAGES = ("odradek", "pyspark_odradek")
BESIDE = ("config", "docker", "docs", "examples")
FILES = (
    *("setup.py", "pyproject.toml", "MANIFEST.in", "Makefile", ".dockerignore"),
    *("LICENSE", "README.md", "ARCHITECTURE.md", "CHANGELOG.md"),
    *("CONTRIBUTING.md", "SECURITY.md"),
)


def copy_of_checkout(folder: Path) -> Path:
    """A checkout as git makes it: with the links, and nothing that was built."""
    links = [path for path in (ROOT / "odradek").iterdir() if path.is_symlink()]
    linked = [path.readlink().name for path in links]
    for name in {*PACKAGES, *BESIDE, *linked}:
        shutil.copytree(
            ROOT / name,
            folder / name,
            symlinks=True,
            ignore=shutil.ignore_patterns("__pycache__", "*.so"),
        )
    for name in FILES:
        shutil.copy(ROOT / name, folder)
    return folder


def build_source_distribution(folder: Path) -> Path:
    """``python -m build --sdist``; the folder gets the file, and what it needs."""
    checkout = copy_of_checkout(folder / "checkout")
    program = f"from setuptools import build_meta as b; b.build_sdist({str(folder)!r})"
    run(sys.executable, "-c", program, cwd=checkout)
    (built,) = folder.glob("*.tar.gz")
    return built


def unpack(distribution: Path, folder: Path) -> Path:
    """The one folder that is in it."""
    with tarfile.open(distribution) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.iterdir()
    return unpacked


def build_wheel(source: Path, folder: Path, compiler: str | None = None) -> Path:
    """``pip wheel`` of a source distribution, with another compiler if it is named."""
    # What is tried is not measured.
    environment = {**os.environ, "CFLAGS": "-O0"}
    if compiler:
        environment["CC"] = compiler
    pip = [sys.executable, "-m", "pip", "wheel", "-q", "-w", str(folder)]
    run(
        *(*pip, "--no-build-isolation", "--no-deps", "--no-index", str(source)),
        cwd=folder,
        env=environment,
    )
    (wheel,) = folder.glob("*.whl")
    return wheel


def run(*command: str, cwd: Path, env: dict[str, str] | None = None) -> None:
    """Run it; what it said is the message of a failure."""
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
