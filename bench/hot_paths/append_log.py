"""Append to a log: validate, stamp, write. And what the write alone costs."""

import os
from collections.abc import Iterator
from pathlib import Path

from logs import EPOCH, new_log, now_ms, temporary_root
from measuring import Case, main
from samples import large_batch, small_batch


class Append:
    """Appends the same bytes again and again, which each repeat begins anew."""

    def __init__(self, root: Path, batch: bytearray) -> None:
        self._root = root
        self._batch = batch
        self._log = new_log(root)

    def prepare(self) -> None:
        for path in self._log.directory.iterdir():
            path.unlink()
        self._log = new_log(self._root)

    def run(self, count: int) -> None:
        # The base offset of a produced batch is 0, and the log stamps its own.
        batch, zero = memoryview(self._batch), bytes(8)
        append, now = self._log.appender.append_as_leader, now_ms()
        for _ in range(count):
            batch[:8] = zero
            append(batch, EPOCH, now)


class Write:
    """The one system call of an append."""

    def __init__(self, root: Path, batch: bytearray) -> None:
        self._path = root / "plain"
        self._batch = batch
        self._number = os.open(self._path, os.O_RDWR | os.O_CREAT)

    def prepare(self) -> None:
        os.ftruncate(self._number, 0)

    def run(self, count: int) -> None:
        batch, number, position, size = self._batch, self._number, 0, len(self._batch)
        for _ in range(count):
            os.pwrite(number, batch, position)
            position += size


def cases() -> Iterator[Case]:
    with temporary_root() as root:
        for label, batch in (("170 B", small_batch()), ("16 KiB", large_batch())):
            for name, work in (("append", Append), ("pwrite alone", Write)):
                one = work(root, batch)
                yield Case(f"{name}, {label}", one.run, len(batch), one.prepare)


if __name__ == "__main__":
    main(cases)
