"""House rules that no linter knows: sizes, docstrings, mirrored tests, fresh docs."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "protocol",
    "storage",
    "client",
    "objects",
    "broker",
    "pipeline",
    "terminal",
    "testing",
)
FILE_LINES_MAX = 400
FUNCTION_LINES_MAX = 60
PAGES = (
    "README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
)
DOOR = "docs/index.md"
# A file that a page names, whole or by its last parts: `broker/node/server.py`.
NAMED_FILE = re.compile(r"`([\w./-]+\.(?:pyi?|[ch]))`")
# A link's target and its anchor, either of which may be missing.
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
BLOCK = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+?)$", re.MULTILINE)
GENERATED = (
    "docs/apis.md",
    "docs/metrics.md",
    "docs/options.md",
    "docs/states.md",
    "broker/requests/offered.py",
)


def modules() -> list[Path]:
    found = [path for name in PACKAGES for path in (ROOT / name).rglob("*.py")]
    return sorted(found)


def pages() -> list[Path]:
    return [ROOT / name for name in PAGES] + sorted((ROOT / "docs").rglob("*.md"))


def test_there_is_something_to_check() -> None:
    assert len(modules()) > 40


@pytest.mark.parametrize("folder", [*PACKAGES, "tests", "bench", "docs"])
def test_files_and_functions_are_short(folder: str) -> None:
    too_long = [
        complaint
        for path in sorted((ROOT / folder).rglob("*.py"))
        for complaint in _too_long(path)
    ]
    assert not too_long


def _too_long(path: Path) -> Iterator[str]:
    text = path.read_text()
    name = path.relative_to(ROOT)
    lines = text.count("\n")
    if lines > FILE_LINES_MAX:
        yield f"{name}: {lines} lines"
    if lines <= FUNCTION_LINES_MAX:
        return
    for node in _statements(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert node.end_lineno is not None
            size = node.end_lineno - node.lineno + 1
            if size > FUNCTION_LINES_MAX:
                yield f"{name}:{node.lineno} {node.name}: {size} lines"


def _statements(tree: ast.AST) -> Iterator[ast.AST]:
    """Without what they are made of, which takes as long again to look through."""
    left = [tree]
    while left:
        yield (node := left.pop())
        for within in ("body", "orelse", "finalbody", "handlers", "cases"):
            left += getattr(node, within, ())


def test_every_module_says_what_it_is() -> None:
    silent = [
        str(path.relative_to(ROOT))
        for path in modules()
        if not (text := path.read_text()).startswith('"""')
        and not ast.get_docstring(ast.parse(text))
    ]
    assert not silent


def test_every_module_has_its_tests() -> None:
    missing = []
    for path in modules():
        relative = path.relative_to(ROOT)
        mirror = ROOT / "tests" / relative.parent / f"test_{relative.name}"
        if not (relative.name.startswith("__") or mirror.exists() or _is_covered(path)):
            missing.append(str(mirror.relative_to(ROOT)))
    assert not missing


def _is_covered(path: Path) -> bool:
    """Message families are declarations: one parametrised test covers them all."""
    return path.parent.name in ("messages", "plain")


def test_every_test_folder_is_a_package() -> None:
    bare = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").rglob("*")
        if path.is_dir()
        and any(path.glob("*.py"))
        and not (path / "__init__.py").exists()
    ]
    assert not bare


def test_every_file_that_a_page_names_is_there() -> None:
    files = [path.relative_to(ROOT) for path in ROOT.glob("*.py")]
    beside = ("odradek", "pyspark_odradek", "tests", "bench", "docs", ".ci")
    for folder in (*PACKAGES, *beside):
        files += [path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.*")]
    ends = {
        "/".join(path.parts[place:])
        for path in files
        for place in range(len(path.parts))
    }
    named = {
        f"{page.relative_to(ROOT)}: {name}"
        for page in pages()
        for name in NAMED_FILE.findall(page.read_text())
        if name not in ends
    }
    assert not named


def links(page: Path) -> Iterator[tuple[Path, str]]:
    """The files to which a page has links, and the anchors there, if any."""
    for target, anchor in LINK.findall(BLOCK.sub("", page.read_text())):
        yield (page.parent / target).resolve() if target else page, anchor


def anchors(page: Path) -> set[str]:
    """What the headings of a page are called in links, on the forge and on the site."""
    found = HEADING.findall(BLOCK.sub("", page.read_text()))
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading) for heading in found]
    kept = [re.sub(r"[^\w\- ]", "", heading.strip().lower()) for heading in plain]
    return {heading.replace(" ", "-") for heading in kept}


def test_every_link_of_a_page_leads_somewhere() -> None:
    dead = {
        f"{page.relative_to(ROOT)}: {target.name}#{anchor}"
        for page in pages()
        for target, anchor in links(page)
        if not target.exists() or (anchor and anchor not in anchors(target))
    }
    assert not dead


def test_every_page_is_reached_from_the_door() -> None:
    reached, new = set(), {ROOT / DOOR}
    while new:
        page = new.pop()
        reached.add(page)
        new |= {to for to, _ in links(page) if to.suffix == ".md"} - reached
    hidden = [str(page.relative_to(ROOT)) for page in pages() if page not in reached]
    assert not hidden
    assert ROOT / DOOR in {target for target, _ in links(ROOT / "README.md")}


def test_every_page_is_on_the_site() -> None:
    listed = re.findall(r": ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.M)
    docs = ROOT / "docs"
    of_folders_above = (
        "project",
        "architecture",
        "changelog",
        "contributing",
        "weaknesses",
    )
    beside = {f"{name}.md" for name in of_folders_above}
    assert sorted(set(listed) - beside) == sorted(
        page.relative_to(docs).as_posix() for page in docs.rglob("*.md")
    )


@pytest.mark.parametrize("page", GENERATED)
def test_generated_page_is_fresh(page: str) -> None:
    command = [sys.executable, "docs/generate.py", "--print", page]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == (ROOT / page).read_text(), "run `make docs`"
