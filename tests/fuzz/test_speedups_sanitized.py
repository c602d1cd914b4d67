"""speedups.c under the address and undefined-behaviour sanitizers, on random bytes."""

import os
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.patience import PATIENCE_S
from tests.sampling import sampled

ROOT = Path(__file__).parents[2]
IS_LONG = os.environ.get("ODRADEK_LONG") == "1"
TABLES = "CRC_BY_TABLES"  # a checksum without the processor's own instruction
FLAGS = [
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


def compile_(sources: dict[str, str], folder: Path, *flags: str) -> None:
    """Make an object of each C file in ``folder``, where all headers are put."""
    for name, text in {**headers(), **sources}.items():
        (folder / name).write_text(text)
    files = [name for name in sources if name.endswith(".c")]
    run_gcc("-c", *files, *flags, folder=folder)


def headers() -> dict[str, str]:
    return {name: text for name, text in read_sources().items() if name[-1] == "h"}


def over(sound: Path, changed: Path) -> Iterable[Path]:
    """The objects that are sound, but for those that were compiled anew."""
    paths = [*sound.glob("*.o"), *changed.glob("*.o")]
    return {path.name: path for path in paths}.values()


def link(objects: Iterable[Path], folder: Path) -> Path:
    module = folder / "speedups.abi3.so"
    run_gcc("-shared", *map(str, objects), "-o", str(module), folder=folder)
    return module


def run_gcc(*arguments: str, folder: Path) -> None:
    command = ["gcc", *FLAGS, *arguments]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def sound(libasan: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the objects of what is sound are: most of what is broken on purpose."""
    folder = tmp_path_factory.mktemp("sound")
    compile_(read_sources(), folder)
    return folder


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
        timeout=seconds + PATIENCE_S,
    )


@pytest.mark.parametrize("flags", sampled([[], [f"-D{TABLES}"]], []))
def test_random_payloads_break_nothing(
    libasan: str, tmp_path: Path, sound: Path, flags: list[str]
) -> None:
    if flags:
        read = read_sources()
        changed = {name: text for name, text in read.items() if TABLES in text}
        compile_(changed, tmp_path, *flags)
    module = link(over(sound, tmp_path), tmp_path)
    seconds, seed = (300, os.getpid()) if IS_LONG else (3, 1)
    done = drive(module, libasan, seconds, seed)
    assert done.returncode == 0, f"seed {seed}\n{done.stderr[-4000:]}"
    assert int(done.stdout.split()[0]) >= 1000


# What is left out of the sources, what stands there instead, and what is said then.
MISSING = [
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
    ("if (rows->count == rows->capacity)", "if (0)", "AddressSanitizer"),
    (" || *group_length > size - KEY_SIZE_MIN", "", "AddressSanitizer"),
    (" || end > data->len", "", "AddressSanitizer"),
    ("text->end - text->at < size || ", "", "AddressSanitizer"),
]


@pytest.mark.parametrize(
    ("check", "without", "complaint"),
    [
        pytest.param(*row, marks=[pytest.mark.long] if place % 3 else [])
        for place, row in enumerate(MISSING)
    ],
)
def test_a_missing_check_would_be_seen(
    libasan: str, tmp_path: Path, sound: Path, check: str, without: str, complaint: str
) -> None:
    sources = read_sources()
    names = {name for name, text in sources.items() if check in text}
    assert names
    if any(name.endswith(".h") for name in names):
        names = set(sources)
    broken = {name: sources[name].replace(check, without) for name in names}
    compile_(broken, tmp_path, "-w", "-O0", "-g0")
    module = link(over(sound, tmp_path), tmp_path)
    done = drive(module, libasan, seconds=100, seed=1)
    assert done.returncode != 0
    assert complaint in done.stderr
