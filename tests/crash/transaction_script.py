"""What producers do in a recorded session: everything that can happen to transactions.

Commits and aborts, with offsets and with nothing else; several producers in the same
logs; a producer id whose epochs run out; a transaction that takes too long, and one
whose transactional id another producer takes over; a kill while markers are written.
"""

from pathlib import Path

import pytest

from odradek.protocol.errors import ErrorCode
from tests.crash.recording import Recording
from tests.crash.transaction_account import Promised
from tests.crash.transaction_producer import TIMEOUT_MS, Producer, Refused
from tests.crash.transaction_session import A0, A1, B0, Session, Setting

# Of the first protocol it is AddPartitionsToTxn that is refused, of the second Produce.
FENCED = {1: ErrorCode.PRODUCER_FENCED, 2: ErrorCode.INVALID_PRODUCER_EPOCH}


async def live(session: Session) -> None:
    async with session.life():
        await session.set_up()
    session.recording.start = len(session.recording.changes)
    async with session.life():
        await commit_and_abort(session)
        await run_out_of_epochs(session)
        await take_too_long(session)
        await be_taken_over(session)
        await session.broker.manager.checkpointer.write()
        await be_killed(session, steps=0)
    async with session.life():
        await go_on(session)
        await be_killed(session, steps=6)
    async with session.life():
        await go_on(session)


async def commit_and_abort(session: Session) -> None:
    one, other = session.producer("one"), session.producer("other")
    await one.init()
    await one.produce(A0, B0)
    await session.produce_plainly(A0)
    await one.produce(A0, A1)
    await one.commit_offsets()
    await one.end(True)
    await one.produce(A1, B0)
    await one.commit_offsets()
    await one.end(False)
    await other.init()
    await one.produce(A0)
    await other.produce(A0, A1)
    await one.produce(A0, B0)
    await one.end(True)
    await session.produce_plainly(A1)
    await other.commit_offsets()
    await other.end(False)
    await one.commit_offsets()
    await one.end(True)


async def run_out_of_epochs(session: Session) -> None:
    producer = session.producer("rotating")
    first_id = None
    for number in range(4):
        if session.setting.protocol == 1 or first_id is None:
            await producer.init()
            first_id = first_id or producer.producer_id
        await producer.produce(A0, B0, count=1)
        await producer.commit_offsets()
        await producer.end(number != 1)
    assert producer.producer_id != first_id


async def take_too_long(session: Session) -> None:
    producer = session.producer("slow")
    await producer.init()
    await producer.produce(A1, B0)
    await producer.commit_offsets()
    await session.broker.time_out(TIMEOUT_MS + 1)
    await be_refused(producer)
    await producer.init()
    await producer.produce(A0, A1)
    await producer.end(True)


async def be_taken_over(session: Session) -> None:
    zombie, heir = session.producer("heir"), session.producer("heir")
    await zombie.init()
    await zombie.produce(A0, B0)
    await heir.init()
    await heir.produce(A0, A1)
    await be_refused(zombie)
    await heir.commit_offsets()
    await heir.end(True)


async def be_refused(producer: Producer) -> None:
    """Write, and commit, for somebody who may not any more."""
    with pytest.raises(Refused) as of_produce:
        await producer.produce(A0, A1)
    assert of_produce.value.code == FENCED[producer.protocol]
    with pytest.raises(Refused) as of_end:
        await producer.end(True)
    assert of_end.value.code == ErrorCode.PRODUCER_FENCED
    producer.give_up()


async def be_killed(session: Session, steps: int) -> None:
    """A commit and an abort are asked for; so many steps later the broker is killed."""
    for transactional_id, is_commit in (("killed", True), ("one", False)):
        producer = session.producer(transactional_id)
        await producer.init()
        await producer.produce(A0, A1, B0)
        await producer.commit_offsets()
        producer.begin_to_end(is_commit)
        for _ in range(steps):
            await session.broker.step()


async def go_on(session: Session) -> None:
    for transactional_id in ("killed", "one", "rotating"):
        producer = session.producer(transactional_id)
        await producer.init()
        await producer.produce(A0, B0)
        await producer.commit_offsets()
        await producer.end(True)
        await producer.produce(A1)
        await producer.end(transactional_id == "one")


async def record(directory: Path, setting: Setting) -> Recording[Promised]:
    session = Session(directory, setting)
    with session.catalog.watched():
        await live(session)
    return session.recording
