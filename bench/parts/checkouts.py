"""Another revision of odradek, checked out and compiled, and a broker of it."""

import filecmp
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from targets import ROOT, Target


def target_of(
    name: str,
    tree: Path,
    durability: str,
    python: Sequence[str] = (sys.executable,),
) -> Target:
    """A broker of that tree. Before there was the name ``odradek`` it was `broker`."""
    module = "odradek" if (tree / "odradek").is_dir() else "broker"
    words = ["env", f"PYTHONPATH={tree}", *python, "-m", module, "serve"]
    options = f"--port {{port}} --data-dir {{data_dir}} --durability {durability}"
    return Target(name, f"{shlex.join(words)} {options}")


@contextmanager
def worktree(revision: str) -> Iterator[Path]:
    """A checkout of ``revision`` in a temporary directory, its C extension built."""
    git = ["git", "-C", str(ROOT), "worktree"]
    with tempfile.TemporaryDirectory(prefix="odradek-bench-") as parent:
        tree = Path(parent) / "tree"
        add = [*git, "add", "--quiet", "--detach", str(tree), revision]
        subprocess.run(add, check=True)
        try:
            _add_speedups(tree)
            yield tree
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def _add_speedups(tree: Path) -> None:
    """Ours where the sources are the same, else what they are compiled to."""
    sources = [*_found(tree, "protocol/*.[ch]"), *_found(tree, "broker/**/*.c")]
    built = [*_found(ROOT, "protocol/*.so"), *_found(ROOT, "broker/**/*.so")]
    _, *other = filecmp.cmpfiles(ROOT, tree, sources, False)
    if not sources:
        return
    if built and not any(other):
        for path in built:
            shutil.copy(ROOT / path, tree / path)
        return
    build = [sys.executable, "setup.py", "--quiet", "build_ext", "--inplace"]
    subprocess.run(build, cwd=tree, check=False)


def _found(tree: Path, pattern: str) -> list[str]:
    return [str(path.relative_to(tree)) for path in tree.glob(pattern)]
