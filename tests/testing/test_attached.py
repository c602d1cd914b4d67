"""A broker that somebody else has started: used, and not ended but by its run."""

from pathlib import Path

import pytest

from odradek.testing import SharedBroker
from odradek.testing.attached import AttachedBroker, Note
from odradek.testing.options import broker_options
from odradek.testing.process import BrokerProcess


def test_a_note_is_read_as_it_was_written(tmp_path: Path) -> None:
    path = tmp_path / "note.json"
    assert Note.read(path) is None
    note = Note(str(tmp_path), "127.0.0.1", 9092, 17)
    note.write(path)
    assert Note.read(path) == note
    assert [each.name for each in tmp_path.iterdir()] == ["note.json"]


def test_it_is_used_and_not_ended(tmp_path: Path) -> None:
    options = broker_options({}, tmp_path / "data")
    process = BrokerProcess(options, tmp_path / "log")
    address = process.start(0)
    broker = AttachedBroker(Note(str(tmp_path), *address, process.pid or 0))
    assert broker.bootstrap == f"{address.host}:{address.port}"
    assert broker.pid == process.pid
    broker.topic("t").delete()
    assert "topic t is deleted" in broker.log()
    for touch in (broker.kill, broker.stop, broker.start, broker.close):
        with pytest.raises(SharedBroker):
            touch()
    broker.end()
    assert broker.pid is None
    broker.end()  # it is no process of ours that has its id now
    process.stop()
