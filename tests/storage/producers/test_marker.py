"""Markers that lie in a log."""

import pytest

from odradek.protocol.control_records import ControlType, EndTxnMarker
from odradek.protocol.record_batch import read_header
from odradek.storage.producers.marker import read_written_marker
from tests.fakes.replicas import batch_of, marker_of


def test_a_marker_is_read() -> None:
    batch = marker_of(7, 0, commits=False)
    found = read_written_marker(read_header(batch), batch)
    assert found == EndTxnMarker(
        ControlType.ABORT, found.coordinator_epoch if found else 0
    )


def test_what_makes_no_sense_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    batch = batch_of(b"no marker")
    assert read_written_marker(read_header(batch), batch) is None
    assert "ends no transaction" in caplog.text
