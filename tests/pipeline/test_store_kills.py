"""kill -9 of a driver whose tables lie in a store, at random moments, without Spark."""

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from odradek.pipeline.tables.table import FORMATS
from tests.fakes.object_server import environment
from tests.fakes.stored_objects import ObjectServer
from tests.objects.conftest import far_server, far_store
from tests.patience import PATIENCE_S
from tests.pipeline.stores import URL, rows_in
from tests.sampling import sampled

__all__ = ["far_server", "far_store"]
ROOT = Path(__file__).parents[2]
IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
KILLS = int(os.environ.get("ODRADEK_KILLS", "200" if IS_LONG else "1"))
BATCHES = 12
GOOD = [n for n in range(BATCHES * 10) if n % 10 != 7]
BAD = [n for n in range(BATCHES * 10) if n % 10 == 7]
LIVES_MAX_S = {"parquet": 0.5, "delta": 1.0, "iceberg": 2.0}
MODULE = "tests.pipeline.job_committer_worker"


def live_and_die(
    kind: str, server: ObjectServer, folder: Path, lives_s: float | None
) -> bool:
    """Whether it came to its end; killed after some seconds if it is to be."""
    given = {**os.environ, **environment(server)}
    if kind == "iceberg":
        given["CATALOG"] = str(folder / "catalog.db")
    process = subprocess.Popen(
        [sys.executable, "-m", MODULE, kind, URL, str(BATCHES)],
        cwd=ROOT,
        env=given,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
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
def test_driver_is_killed_at_random_moments(
    kind: str, far_server: ObjectServer, tmp_path: Path
) -> None:
    """In a store that is busy now and then, and loses answers."""
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    kills = rounds = 0
    while kills < KILLS:
        folder = tmp_path / str(rounds)
        folder.mkdir()
        rounds += 1
        far_server.clear()
        far_server.fail_at_random(0.02, seed)
        while not live_and_die(
            kind,
            far_server,
            folder,
            chance.uniform(0, LIVES_MAX_S[kind]) if kills < KILLS else None,
        ):
            kills += 1
            far_server.fail_at_random(0)
            seen = rows_in(far_server, kind, "_offset", folder)
            assert len(set(seen)) == len(seen)
            far_server.fail_at_random(0.02, kills)
        far_server.fail_at_random(0)
        assert rows_in(far_server, kind, "_offset", folder) == GOOD
        assert rows_in(far_server, kind, "offset", folder, "letters") == BAD
