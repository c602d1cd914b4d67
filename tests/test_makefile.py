"""What make says and does before odradek is there, with tools that only tell."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MAKE = shutil.which("make") or ""
pytestmark = pytest.mark.skipif(not MAKE, reason="needs make")
# A Python that makes environments whose commands only tell how they were called.
PYTHON = """#!/bin/sh
case "$1" in
-c) exit {is_old} ;;
-m) mkdir -p "$3/bin"; [ {can_make} = 1 ] || exit 1
    for name in python pip odradek; do
        printf '#!/bin/sh\\necho "%s $*"\\n' $name > "$3/bin/$name"
        chmod +x "$3/bin/$name"
    done ;;
esac
"""


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def make(*arguments: str, path: str = os.defpath) -> subprocess.CompletedProcess[str]:
    """Run it as from a shell, also when these tests run under a make.

    What that make was told (`ARGS=...`), it exports.
    """
    told = {"ARGS", "PYTHON", "VENV", "WORKERS"}
    ours = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "PATH", *told}
    kept = {name: text for name, text in os.environ.items() if name not in ours}
    return subprocess.run(
        [MAKE, "--no-print-directory", *arguments],
        cwd=ROOT,
        env={**kept, "PATH": path},
        capture_output=True,
        text=True,
    )


def serve(
    tmp_path: Path, *, is_old: int = 0, can_make: int = 1
) -> subprocess.CompletedProcess[str]:
    script(tmp_path / "python", PYTHON.format(is_old=is_old, can_make=can_make))
    return make("serve", f"PYTHON={tmp_path / 'python'}", f"VENV={tmp_path / 'venv'}")


def test_serve_says_what_it_does_and_how_to_go_on(tmp_path: Path) -> None:
    done = serve(tmp_path)
    assert done.returncode == 0, done.stderr
    making, installing, hint, _ = done.stderr.splitlines()
    assert making == f"Making {tmp_path}/venv: about half a minute, once ..."
    assert installing.startswith(f"Installing odradek into {tmp_path}/venv")
    assert hint == f"In another terminal: {tmp_path}/venv/bin/odradek topic list"
    assert done.stdout.splitlines()[-1].strip() == "odradek serve"


def test_the_second_serve_makes_nothing(tmp_path: Path) -> None:
    serve(tmp_path)
    done = serve(tmp_path)
    assert len(done.stderr.splitlines()) == 2
    assert done.stderr.startswith("In another terminal: ")


def test_an_old_python_is_told_at_once(tmp_path: Path) -> None:
    done = serve(tmp_path, is_old=1)
    assert done.returncode != 0
    assert "odradek needs Python 3.11 or newer" in done.stderr
    assert "make PYTHON=python3.12" in done.stderr
    assert not (tmp_path / "venv").exists()


def test_half_an_environment_is_not_left_behind(tmp_path: Path) -> None:
    """Debian's Python makes half of one, where its package of venv is missing."""
    assert serve(tmp_path, can_make=0).returncode != 0
    assert not (tmp_path / "venv").exists()
    assert serve(tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("there", "called"),
    [
        (["uv", "pipx"], "uv tool install --reinstall ."),
        (["pipx"], "pipx install --force ."),
    ],
)
def test_install_takes_what_is_there(
    there: list[str], called: str, tmp_path: Path
) -> None:
    for name in there:
        script(tmp_path / name, f'#!/bin/sh\necho "{name} $*"\n')
    done = make("install", path=str(tmp_path))
    assert (done.returncode, done.stdout.strip()) == (0, called)


def test_install_without_either_says_what_to_type(tmp_path: Path) -> None:
    done = make("install", path=str(tmp_path))
    assert done.returncode != 0
    assert "wants uv or pipx" in done.stderr
    assert "-m venv" in done.stderr


def test_what_is_quick_is_there_and_so_is_what_it_leaves_out() -> None:
    text = (ROOT / "Makefile").read_text()
    for name in "QUICK", "SWEEPS":
        found = re.search(rf"^{name} := ((?:[^\n]*\\\n)*[^\n]*)", text, re.MULTILINE)
        assert found is not None
        paths = found[1].replace("\\", " ").split()
        assert len(paths) > 3
        for path in paths:
            assert (ROOT / path).exists(), path
