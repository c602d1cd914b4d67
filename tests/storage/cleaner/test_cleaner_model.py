"""Random logs that are cleaned again and again, against plain dictionaries.

Appends of several producers, plain, idempotent and transactional, tombstones, codecs,
rolls, rounds with small maps, DeleteRecords, a full disk, restarts, kills and power
cuts. What readers of both isolations get is compared with what was written. The seed
is in the message of a failure; `run_model` with it does the same again.
"""

import os
from copy import deepcopy
from random import Random

import pytest

from tests.storage.cleaner.cleaner_model import Model

SEEDS, STEPS = (400, 120) if os.environ.get("ODRADEK_LONG") else (20, 60)
CRASH_SEEDS, STRIDE = (12, 1) if os.environ.get("ODRADEK_LONG") else (3, 7)


def run_model(seed: int, steps: int = STEPS) -> Model:
    model = Model(Random(seed))
    for _ in range(steps):
        model.step()
    return model


@pytest.mark.parametrize("part", range(4))
def test_readers_get_what_a_dictionary_holds(part: int) -> None:
    for seed in range(part, SEEDS, 4):
        try:
            model = run_model(seed)
            model.finish()
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise


@pytest.mark.parametrize("loses_power", [False, True])
@pytest.mark.parametrize("seed", range(CRASH_SEEDS))
def test_a_crash_at_any_call_of_a_round_loses_nothing(
    seed: int, loses_power: bool
) -> None:
    model = run_model(1000 + seed)
    model.settle()
    seen = 0
    for nth in range(1 + seed % STRIDE, 2000, STRIDE):
        again = model.on(deepcopy(model.files))
        is_over = again.crash(nth, loses_power=loses_power)
        try:
            again.check()
            again.round()
            again.check()
        except Exception as error:
            error.add_note(f"seed {seed}, call {nth}")
            raise
        seen += 1
        if is_over:
            break
    else:
        raise AssertionError("the round never ends")
    assert seen > 3
