"""The log against a plain list of batches."""

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from odradek.storage.local.local_log import LocalLog
from odradek.storage.local.segments import LogSegments
from tests.fakes.files import FakeFiles
from tests.storage.batches import DIRECTORY, append, batch, new_log, reopened


class LogAgainstList(RuleBasedStateMachine):
    """Appends, rolls, truncations and restarts, beside a list of batches."""

    def __init__(self) -> None:
        super().__init__()
        self.files = FakeFiles()
        self.log = new_log(self.files, index_interval_bytes=150)
        self.batches: list[tuple[int, int, bytes]] = []  # first, last, bytes
        self.end = 0

    @rule(count=st.integers(1, 5), gap=st.integers(0, 3), size=st.integers(0, 200))
    def append(self, count: int, gap: int, size: int) -> None:
        base = max(self.end + gap, self.log.active.base_offset)
        data = batch(base, count, timestamp=base, value=bytes(size))
        append(self.log, data)
        self.end = base + count
        self.batches.append((base, self.end - 1, bytes(data)))

    @precondition(lambda self: self.log.active.size)
    @rule(gap=st.integers(0, 3))
    def roll(self, gap: int) -> None:
        self.log.roll(self.end + gap, now_ms=0)
        self.end = self.log.end.offset

    @rule(data=st.data())
    def truncate(self, data: Any) -> None:
        first = self.log.segments.first.base_offset
        offset = data.draw(st.integers(first, max(first, self.end - 1)))
        if offset < self.end:
            self.log.truncate_to(offset, now_ms=0)
            self.end = offset
            self.batches = [b for b in self.batches if b[1] < offset]

    @rule(is_clean=st.booleans())
    def restart(self, is_clean: bool) -> None:
        config, found = self.log.config, list(self.log.segments)
        if is_clean:
            self.log.close()
        segments = LogSegments(reopened(segment) for segment in found)
        for segment in segments:
            recovery = segment.activate() if is_clean else segment.recover()
            assert recovery.is_clean
            if segment is not segments.last:
                segment.seal()
        self.log = LocalLog(self.files, DIRECTORY, config, segments, self.end)

    @rule(data=st.data(), size_max=st.integers(0, 900))
    def read(self, data: Any, size_max: int) -> None:
        offset = data.draw(st.integers(0, self.end))
        found = self.log.read(offset, size_max, True, self.log.end)
        held = [b for b in self.batches if b[1] >= offset]
        if offset == self.end or not held:
            assert found.records == b""
            return
        expected = b"".join(raw for _, _, raw in held)
        assert len(found.records) >= min(size_max, 1)
        assert bytes(found.records) == expected[: len(found.records)]
        assert len(found.records) <= max(size_max, len(held[0][2]))

    @rule(timestamp=st.integers(-1, 60))
    def search(self, timestamp: int) -> None:
        found = None
        for segment in self.log.segments:
            found = found or segment.reader.find_offset_by_timestamp(timestamp)
        offsets = [
            offset
            for first, last, _ in self.batches
            for offset in range(first, last + 1)
            if offset >= timestamp  # a record's timestamp is its offset
        ]
        assert (found and found.offset) == (offsets[0] if offsets else None)

    @invariant()
    def end_is_the_same(self) -> None:
        assert self.log.end.offset == self.end
        assert self.log.size == sum(len(raw) for _, _, raw in self.batches)


TestLogAgainstList = LogAgainstList.TestCase
TestLogAgainstList.settings = settings(max_examples=60, stateful_step_count=30)


def test_what_was_appended_after_a_clean_restart_is_found_by_truncation() -> None:
    """Behind batches that nobody has verified since."""
    log = LogAgainstList()
    log.append(count=1, gap=0, size=0)
    log.restart(is_clean=True)
    log.append(count=1, gap=0, size=0)
    log.log.truncate_to(1, now_ms=0)
    assert log.log.end.offset == 1
