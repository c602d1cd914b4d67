"""kill -9 of a driver at random moments, without Spark: many, in little time."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from odradek.pipeline.tables.table import FORMATS
from tests.patience import PATIENCE_S
from tests.pipeline.table_readers import READERS, rows_of
from tests.sampling import sampled

ROOT = Path(__file__).parents[2]
IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
KILLS = int(os.environ.get("ODRADEK_KILLS", "200" if IS_LONG else "1"))
BATCHES = 12
GOOD = [n for n in range(BATCHES * 10) if n % 10 != 7]
BAD = [n for n in range(BATCHES * 10) if n % 10 == 7]
LIVES_MAX_S = {"parquet": 0.05, "delta": 0.3, "iceberg": 0.8}
MODULE = "tests.pipeline.job_committer_worker"


def start(kind: str, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", MODULE, kind, str(folder), str(BATCHES)]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def live_and_die(kind: str, folder: Path, lives_s: float | None) -> bool:
    """Whether it came to its end; killed after some seconds if it is to be."""
    process = start(kind, folder)
    assert process.stdout is not None
    with process:
        process.stdout.readline()
        if lives_s is not None:
            time.sleep(lives_s)
            process.kill()
        _, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (0, -9), said
    return process.returncode == 0


@pytest.mark.parametrize("kind", sampled(FORMATS, "delta"))
def test_driver_is_killed_at_random_moments(kind: str, tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    choice = random.Random(seed)
    kills = rounds = 0
    while kills < KILLS:
        folder = tmp_path / str(rounds)
        folder.mkdir()
        rounds += 1
        while not live_and_die(
            kind,
            folder,
            choice.uniform(0, LIVES_MAX_S[kind]) if kills < KILLS else None,
        ):
            kills += 1
            for reader in READERS[kind]:
                seen = rows_of(reader, folder / "rows", "_offset")
                assert len(set(seen)) == len(seen), reader
        for reader in READERS[kind]:
            assert rows_of(reader, folder / "rows", "_offset") == GOOD, reader
            assert rows_of(reader, folder / "letters", "offset") == BAD, reader
