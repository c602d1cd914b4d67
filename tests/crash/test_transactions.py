"""R3 for transactions: a crash after every change that they make to the disk.

Of what was not synced any part is lost. Then it holds: a transaction is committed
whole, with its offsets, or it is not to be seen; what a producer was told is true, and
what was durably decided ends so; nothing hangs; producers go on under ids and epochs
that nobody had before. Both versions of the protocol (KIP-890).
"""

import asyncio
import os
import tempfile
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from random import Random

import pytest

from odradek.protocol.messages.transactions import InitProducerIdRequest
from tests.crash.recording import Crash, Recording
from tests.crash.transaction_account import Promised
from tests.crash.transaction_checks import Crashes
from tests.crash.transaction_script import record
from tests.crash.transaction_session import Session, Setting
from tests.sampling import sampled

IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
# Of how many moments one is tried, and of how many crashes there; how many random parts
# of what is not synced; of how many crashes one is followed by another.
STRIDE, SAMPLE, RANDOMS, AGAIN = (1, 1, 4, 5) if IS_LONG else (7, 23, 4, 8)
PARTS = 4
# With durability=none hundreds of changes are not synced.
PARTS_OF_ALL = 8

DURABLE = [Setting(1), Setting(2)]
UNSYNCED = [Setting(1, is_durable=False), Setting(2, is_durable=False)]


@cache
def recorded(setting: Setting) -> Recording[Promised]:
    directory = tempfile.TemporaryDirectory()
    recording = asyncio.run(record(Path(directory.name), setting))
    _directories.append(directory)  # the copies of the catalogue
    return recording


_directories: list[tempfile.TemporaryDirectory[str]] = []


def moments(recording: Recording[Promised], part: int) -> range:
    return range(recording.start + part, len(recording.changes) + 1, STRIDE * PARTS)


def file_by_file(recording: Recording[Promised], moment: int) -> Iterator[Crash]:
    """Everything of one file is lost, or of all but one."""
    unsynced = recording.unsynced(moment)
    nodes = {recording.changes[each].node for each in unsynced}
    if len(nodes) < 2:
        return
    for node in sorted(nodes):
        own = {each for each in unsynced if recording.changes[each].node == node}
        yield Crash(moment, frozenset(own))
        yield Crash(moment, frozenset(unsynced) - own)


def durable_crashes(
    recording: Recording[Promised], part: int, chance: Random
) -> Iterator[Crash]:
    counts = moments(recording, part)
    yield from recording.all_crashes(counts, RANDOMS, chance)
    for moment in counts:
        # Those of one change are there already.
        yield from file_by_file(recording, moment)


def unsynced_crashes(
    recording: Recording[Promised], part: int, chance: Random
) -> Iterator[Crash]:
    """A kill, which loses nothing, and power cuts that lose parts of each file."""
    for moment in moments(recording, part):
        unsynced = recording.unsynced(moment)
        yield Crash(moment, frozenset(unsynced))
        yield Crash(moment, frozenset())
        for _ in range(PARTS_OF_ALL):
            ends = {recording.changes[each].node: chance.random() for each in unsynced}
            yield Crash(
                moment,
                frozenset(
                    each
                    for place, each in enumerate(unsynced)
                    if place < ends[recording.changes[each].node] * len(unsynced)
                ),
            )
            share = chance.random()
            yield Crash(
                moment, frozenset(each for each in unsynced if chance.random() < share)
            )


def survive(
    recording: Recording[Promised],
    setting: Setting,
    crashes: Iterator[Crash],
    chance: Random,
) -> Crashes:
    async def survive_all() -> Crashes:
        with tempfile.TemporaryDirectory() as scratch:
            survivors = Crashes(recording, setting, Path(scratch), chance)
            for crash in islice(crashes, None, None, SAMPLE):
                await survivors.survive(crash, again=1 / AGAIN)
        return survivors

    return asyncio.run(survive_all())


@pytest.mark.parametrize("part", sampled(range(PARTS), 0))
@pytest.mark.parametrize("setting", DURABLE, ids=["v1", "v2"])
def test_r3_no_crash_tears_a_transaction(setting: Setting, part: int) -> None:
    recording, chance = recorded(setting), Random(part)
    crashes = durable_crashes(recording, part, chance)
    survivors = survive(recording, setting, crashes, chance)
    print(f"{survivors.survived_count} crashes, {survivors.decided_count} decided")
    assert survivors.survived_count > 10
    assert survivors.decided_count > 0


@pytest.mark.parametrize("part", sampled(range(PARTS), 0))
@pytest.mark.parametrize("setting", UNSYNCED, ids=["v1", "v2"])
def test_nothing_hangs_after_a_power_cut_without_durability(
    setting: Setting, part: int
) -> None:
    recording, chance = recorded(setting), Random(part)
    crashes = unsynced_crashes(recording, part, chance)
    survivors = survive(recording, setting, crashes, chance)
    print(f"{survivors.survived_count} crashes, {survivors.decided_count} decided")
    assert survivors.survived_count > 10


def test_t163_producer_id_blocks_never_reuse_after_restart(tmp_path: Path) -> None:
    """Brokers are killed; producers are idempotent and transactional."""
    taken: list[int] = []

    async def live() -> None:
        session = Session(tmp_path, Setting(2))
        async with session.life():
            await session.set_up()
        for number in range(6):
            async with session.life() as broker:
                for _ in range(number % 3):
                    request = InitProducerIdRequest(transactional_id=None)
                    response = await session.ask(request, 4)
                    taken.append(response.producer_id)
                producer = session.producer(f"of life {number}")
                await producer.init()
                taken.append(producer.producer_id)
                if number == 3:  # the rest of the block, and some of the next
                    ids = broker.services.producer_ids
                    taken.extend([await ids.next() for _ in range(1500)])

    asyncio.run(live())
    assert len(taken) > 1500
    assert len(set(taken)) == len(taken)
