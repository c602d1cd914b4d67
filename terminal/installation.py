"""How odradek came here, and what to type for more of it.

pip and uv write down what a package was installed from (PEP 610): a folder of sources,
a file, an address. What is here without such a note came from an index.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import sys
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, cast
from urllib.parse import urlsplit
from urllib.request import url2pathname

_NAME = "odradek"
_HERE = Path(__file__).resolve().parents[1]
# pip may have kept the wheel that it made the last time; uv makes a new one.
_PIP_AGAIN = ("--force-reinstall", "--no-deps", "--no-cache-dir")
_UV_AGAIN = ("--reinstall", "--no-deps")


class Origin(NamedTuple):
    """What odradek was installed from: an address, or None for an index."""

    address: str | None
    is_editable: bool = False

    @property
    def is_wheel(self) -> bool:
        """Whether to install it again compiles nothing."""
        return bool(self.address) and str(self.address).endswith(".whl")


def install_command(extra: str = "", *, again: bool = False) -> str:
    """What to type to have that extra of odradek in this environment, too.

    With ``again`` it installs what is there anew, and compiles it anew.
    """
    origin = origin_of_installed()
    words = [*_installer()]
    if again:
        words += _UV_AGAIN if words[0] == "uv" else _PIP_AGAIN
    if origin.is_editable:
        words.append("-e")
    return shlex.join([*words, _requirement(origin, f"[{extra}]" if extra else "")])


def origin_of_installed() -> Origin:
    """What the odradek that runs was installed from."""
    try:
        note = distribution(_NAME).read_text("direct_url.json")
    except PackageNotFoundError:
        note = None
    if note:
        return _noted(note)
    if (_HERE / "pyproject.toml").exists():  # found by PYTHONPATH, or in this folder
        return Origin(_HERE.as_uri(), is_editable=True)
    return Origin(None)


def _noted(text: str) -> Origin:
    note = cast("dict[str, dict[str, object]]", json.loads(text))
    address = str(note["url"])
    if "vcs_info" in note:
        source = note["vcs_info"]
        address = f"{source['vcs']}+{address}@{source['commit_id']}"
    return Origin(address, bool(note.get("dir_info", {}).get("editable")))


def _installer() -> list[str]:
    """pip as this environment has it, else uv, which installs from outside."""
    found = shutil.which("pip")
    if found and Path(found).parent == Path(sys.executable).parent:
        return ["pip", "install"]
    python = _short(Path(sys.executable))
    if find_spec("pip"):
        return [python, "-m", "pip", "install"]
    return ["uv", "pip", "install", "--python", python]


def _requirement(origin: Origin, extra: str) -> str:
    if origin.address is None:
        return f"{_NAME}{extra}"
    parts = urlsplit(origin.address)
    if parts.scheme != "file":
        return f"{_NAME}{extra} @ {origin.address}"
    return f"{_short(Path(url2pathname(parts.path)))}{extra}"


def _short(path: Path) -> str:
    """The path as one types it here: what is below this folder begins with ``./``."""
    here, path = Path.cwd(), Path(os.path.normpath(path))
    if path == here:
        return "."
    if path.is_relative_to(here):
        return os.path.join(".", path.relative_to(here))
    return str(path)
