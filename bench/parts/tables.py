"""What the benchmarks print: tables in Markdown, the machine, sections of a page."""

import os
import platform
import re
import time
from collections.abc import Iterable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

PACKAGES = ("uvloop", "crc32c", "cramjam", "confluent-kafka")


def short(figure: float) -> str:
    """Three digits, more only when they stand before the point."""
    if figure == 0:
        return "0"
    return f"{figure:,.0f}" if abs(figure) >= 100 else f"{figure:.3g}"


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table with aligned columns; all but the first to the right."""
    lines = [list(head), *map(list, rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    rule = ["-" * width + (":" if place else "-") for place, width in enumerate(widths)]
    rule = [each[:-1] if place == 0 else each[1:] for place, each in enumerate(rule)]
    written = []
    for line in [lines[0], rule, *lines[1:]]:
        cells = [
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        written.append(f"| {' | '.join(cells)} |")
    return "\n".join(written)


def machine() -> str:
    """One paragraph: when, on what, with which versions."""
    versions = [f"Python {platform.python_version()}"]
    for package in PACKAGES:
        try:
            versions.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    cores = len(os.sched_getaffinity(0))
    return (
        f"{time.strftime('%Y-%m-%d')}, {_processor()}, {cores} cores, "
        f"{platform.system()} {platform.release()}, {', '.join(versions)}, "
        f"{'with' if has_speedups() else 'without'} the C extension."
    )


def has_speedups() -> bool:
    try:
        from odradek.protocol import speedups
    except ImportError:
        return False
    return speedups is not None


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"model name\s*: (.*)", text)
    return found[1] if found else platform.machine()


def replace_section(page: Path, name: str, text: str) -> None:
    """Put ``text`` between the marks of ``name`` in ``page``, or at its end."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    section = f"{begin}\n{text.strip()}\n{end}"
    old = page.read_text() if page.exists() else "# Benchmarks\n"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    if pattern.search(old):
        new = pattern.sub(lambda _: section, old)
    else:
        new = f"{old.rstrip()}\n\n{section}\n"
    page.write_text(new)
