import logging
import pickle

import pytest

from odradek.pipeline.errors import SourceError
from odradek.pipeline.records.damage import CorruptData, Damage, OnCorrupt, meet
from tests.pipeline.walks import PLACE

DAMAGE = Damage(PLACE, 10, 90, 7, 9, "the checksum is wrong", "0007.log")


def test_fail_says_where_and_what_helps() -> None:
    with pytest.raises(SourceError) as caught:
        meet(DAMAGE, OnCorrupt.FAIL)
    text = str(caught.value)
    assert text.startswith("topic-3: 0007.log, bytes 10 to 90: the checksum is wrong;")
    assert "onCorrupt" in text
    assert "odradek fsck" in text


def test_the_error_travels_from_executors() -> None:
    again = pickle.loads(pickle.dumps(CorruptData(DAMAGE)))
    assert again.damage == DAMAGE


def test_skip_says_nothing_and_report_warns(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        meet(DAMAGE, OnCorrupt("skip"))
        assert not caplog.text
        meet(DAMAGE, OnCorrupt("report"))
    assert "0007.log, bytes 10 to 90" in caplog.text
