"""Real input: every line of the standard library's sources, one record each."""

import itertools
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker_process import BrokerProcess
from tests.clients.adapters import CLIENTS, Client, Message, Options, by_name

BATCH = 20_000  # messages in memory at a time

NOT_OF_THE_LIBRARY = {"site-packages", "dist-packages"}
IS_LONG = bool(os.environ.get("ODRADEK_LONG"))
LINES = None if IS_LONG else 10_000  # of more than 800,000


def library_lines() -> Iterator[bytes]:
    """The lines of the installed standard library, or its first in the short run."""
    return itertools.islice(_all_lines(), LINES)


def _all_lines() -> Iterator[bytes]:
    """Not of what was added to it."""
    root = Path(sysconfig.get_path("stdlib"))
    for path in sorted(root.rglob("*.py")):
        if not NOT_OF_THE_LIBRARY.intersection(path.relative_to(root).parts):
            with path.open("rb") as file:
                yield from file


@pytest.mark.parametrize("client", CLIENTS, ids=by_name)
def test_every_line_comes_back_in_order(
    broker: BrokerProcess, topic: str, client: Client
) -> None:
    if broker.environment["ODRADEK_LOOP"] == "asyncio" and not IS_LONG:
        pytest.skip("the second loop is in the long run; its bytes go the same way")
    client.create_topic(broker.address, topic, 1)
    count = 0
    for lines in _batched(library_lines(), BATCH):
        messages = [Message(None, line) for line in lines]
        client.produce(broker.address, topic, messages, Options(codec="lz4"))
        count += len(messages)
    assert count > (500_000 if IS_LONG else 9_000)
    found = client.consume(broker.address, topic, 0, count)
    assert len(found) == count
    for offset, (read, line) in enumerate(zip(found, library_lines(), strict=True)):
        assert read.offset == offset
        assert read.message.value == line


def _batched(lines: Iterator[bytes], size: int) -> Iterator[list[bytes]]:
    while batch := list(itertools.islice(lines, size)):
        yield batch
