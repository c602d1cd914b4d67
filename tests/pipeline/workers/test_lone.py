import subprocess
import sys
from pathlib import Path

import pytest

MODULE = """
import sys
print(__name__, sys.argv[1:])
{then}
"""
LONE = "from odradek.pipeline.workers import lone; lone.main()"


@pytest.mark.parametrize(
    ("then", "code", "said"),
    [
        ("", 0, ""),
        ("sys.exit(3)", 3, ""),
        ("raise BrokenPipeError", 1, ""),
        ("raise ConnectionResetError", 1, ""),
        ("raise RuntimeError('of ours')", 1, "RuntimeError: of ours\n"),
    ],
)
def test_a_worker_of_its_own(tmp_path: Path, then: str, code: int, said: str) -> None:
    (tmp_path / "of_this_test.py").write_text(MODULE.format(then=then))
    path = f"import sys; sys.path.append({str(tmp_path)!r}); {LONE}"
    done = subprocess.run(
        [sys.executable, "-uc", path, "of_this_test", "given"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == code
    assert done.stdout == "__main__ ['given']\n"
    assert done.stderr.endswith(said)
    assert bool(done.stderr) == bool(said)
