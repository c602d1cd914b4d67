"""What an extra of the project installs, out of what is installed here.

A folder of links to these distributions and to the project itself, and nothing else,
is what a fresh environment with that extra alone would have: no pip, no network.
"""

import os
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
OWN = ("odradek", "pyspark_odradek")


def requirements_of(extra: str) -> Iterator[Requirement]:
    """What the project needs, and what the extra needs besides."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    yield from map(Requirement, project["dependencies"])
    for text in project["optional-dependencies"][extra]:
        needed = Requirement(text)
        if needed.name == project["name"]:
            for other in sorted(needed.extras):
                yield from requirements_of(other)
        else:
            yield needed


def closure(extra: str) -> dict[str, Distribution]:
    """All distributions that pip would install, each in a version that fits."""
    found: dict[str, Distribution] = {}
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = list(requirements_of(extra))
    while waiting:
        needed = waiting.pop()
        if not _is_wanted(needed, ""):
            continue
        there = distribution(needed.name)
        assert needed.specifier.contains(there.version, prereleases=True), needed
        found[there.name] = there
        extras = frozenset(needed.extras)
        if (there.name, extras) in seen:
            continue
        seen.add((there.name, extras))
        for text in there.requires or ():
            behind = Requirement(text)
            if any(_is_wanted(behind, each) for each in extras | {""}):
                behind.marker = None
                waiting.append(behind)
    return found


def _is_wanted(needed: Requirement, extra: str) -> bool:
    return needed.marker is None or needed.marker.evaluate({"extra": extra})


def link(folder: Path, *extras: str) -> None:
    """Make the folder: what is in it can be imported, and has its metadata."""
    folder.mkdir()
    found = {name: each for extra in extras for name, each in closure(extra).items()}
    for each in found.values():
        for name in {path.parts[0] for path in each.files or ()} - {
            "..",
            "__pycache__",
        }:
            target = Path(str(each.locate_file(name)))
            if target.exists() and not (folder / name).exists():
                (folder / name).symlink_to(target)
    for name in OWN:
        (folder / name).symlink_to(ROOT / name)


def python_script(folder: Path, path: Path) -> Path:
    """A Python that sees the folder, the standard library, and nothing installed."""
    path.write_text(
        f"#!/bin/sh\nPYTHONPATH={folder}${{PYTHONPATH:+:}}$PYTHONPATH exec"
        f' {sys.executable} -S -P "$@"\n'
    )
    path.chmod(0o755)
    return path


def environment(folder: Path, python: Path) -> dict[str, str]:
    """For a process, and for the workers of its Spark."""
    kept = {name: text for name, text in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "PYSPARK_PYTHON": str(python), "PYTHONPATH": str(folder)}
