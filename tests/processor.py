"""CPU time in turns of a loop, for limits that hold on every machine.

A slow processor, or one that others use as well, takes longer for what is measured and
for the loop in the same proportion.
"""

import time

TURNS = 300_000


def turns(seconds: float) -> float:
    """How often a plain loop goes round here in so much CPU time; at its best of five.

    On a desktop of 2020, some 30 million times a second.
    """
    best_s = min(_loop_s() for _ in range(5))
    return seconds * TURNS / best_s


def _loop_s() -> float:
    total, before = 0, time.thread_time()
    for number in range(TURNS):
        total += number & 7
    return time.thread_time() - before
