"""speedups.c under the address and undefined-behaviour sanitizers, on random bytes."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
IS_LONG = os.environ.get("ODRADEK_LONG") == "1"
FLAGS = [
    "-shared",
    "-fPIC",
    "-O1",
    "-g",
    "-Wall",
    "-Wextra",
    "-Werror",
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=all",
    "-DPy_LIMITED_API=0x030B0000",
    "-I" + sysconfig.get_path("include"),
]


@pytest.fixture(scope="module")
def libasan() -> str:
    """The runtime that must be loaded before a Python without sanitizers."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    command = ["gcc", "-print-file-name=libasan.so"]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    path = found.stdout.strip()
    if not os.path.isabs(path):
        pytest.skip("gcc has no address sanitizer")
    return path


def read_sources() -> dict[str, str]:
    paths = sorted((ROOT / "protocol").glob("speedups*.[ch]"))
    return {path.name: path.read_text() for path in paths}


def build(sources: dict[str, str], folder: Path, *flags: str) -> Path:
    module = folder / "speedups.abi3.so"
    for name, text in sources.items():
        (folder / name).write_text(text)
    files = [str(folder / name) for name in sources if name.endswith(".c")]
    command = ["gcc", *FLAGS, *flags, *files, "-o", str(module)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return module


def drive(
    module: Path, libasan: str, seconds: float, seed: int
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "LD_PRELOAD": libasan,
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",  # a block of its own for every object
        "PYTHONPATH": str(ROOT),
    }
    script = str(ROOT / "tests/fuzz/drive_speedups.py")
    return subprocess.run(
        [sys.executable, script, str(module), str(seconds), str(seed)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        timeout=10 * seconds + 60,
    )


@pytest.mark.parametrize("flags", [[], ["-DCRC_BY_TABLES"]])
def test_random_payloads_break_nothing(
    libasan: str, tmp_path: Path, flags: list[str]
) -> None:
    module = build(read_sources(), tmp_path, *flags)
    seconds, seed = (300, os.getpid()) if IS_LONG else (3, 1)
    done = drive(module, libasan, seconds, seed)
    assert done.returncode == 0, f"seed {seed}\n{done.stderr[-4000:]}"
    assert int(done.stdout.split()[0]) >= 1000


@pytest.mark.parametrize(
    ("check", "without", "complaint"),
    [
        ("(uint64_t)", "", "runtime error"),
        # Seen by a sanitizer or by the comparison, whichever comes first.
        ("shift < 35 && byte < end", "shift < 35", ""),
        ("size > total - position ||", "", ""),
        ("count < capacity && ", "", ""),
        (
            " ||\n            batch.size > target->len - kept->size",
            "",
            "AddressSanitizer",
        ),
        ("if (size < BATCH_OVERHEAD || size > left)", "if (left < 61)", ""),
        ("    if (size < BATCH_OVERHEAD) {\n        return 0;\n    }\n", "", ""),
        ("header[LENGTH] + LOG_OVERHEAD != size", "0", ""),
        ("one > other && ", "", ""),
        ("if (++place == table->count)", "if (++place < 0)", "AddressSanitizer"),
        (" || length > size", "", "AddressSanitizer"),
        (" || records_count > rows.capacity - rows.count", "", "AddressSanitizer"),
        (" || position > data->len - BATCH_OVERHEAD", "", "AddressSanitizer"),
        (" ||\n        count > columns->capacity - columns->count", "", ""),
        (" || length > data->len - position", "", ""),
        (" ||\n            length > room - size", "", "AddressSanitizer"),
        (" && data->len - position >= SMALL", "", "AddressSanitizer"),
        (" && room - size >= SMALL", "", "AddressSanitizer"),
    ],
)
def test_a_missing_check_would_be_seen(
    libasan: str, tmp_path: Path, check: str, without: str, complaint: str
) -> None:
    sources = read_sources()
    assert any(check in text for text in sources.values())
    sources = {name: text.replace(check, without) for name, text in sources.items()}
    broken = build(sources, tmp_path, "-w")
    done = drive(broken, libasan, seconds=10, seed=1)
    assert done.returncode != 0
    assert complaint in done.stderr
