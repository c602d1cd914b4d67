"""Append to some logs and wait until all of it is on the disk, by one group commit."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

from logs import temporary_root
from measuring import Case, main
from partitions import Host, Loop, append
from samples import small_batch


def cases() -> Iterator[Case]:
    loop = Loop()
    with temporary_root() as root:
        yield Case("pwrite and fdatasync alone", lambda count: _sync(root, count))
        for log_count in (1, 8, 64):
            name = f"append and commit, {log_count} log{'s' * (log_count > 1)}"
            yield Case(name, loop.case(_Commit(root / str(log_count), log_count).run))
    loop.close()


class _Commit:
    def __init__(self, root: Path, log_count: int) -> None:
        root.mkdir()
        self._host = Host(root, "commit")
        self._host.on_durable = self._note
        self._partitions = [self._host.new_partition() for _ in range(log_count)]
        self._batch = small_batch()
        self._missing = 0
        self._all_durable = asyncio.Event()

    async def run(self, count: int) -> None:
        for _ in range(count):
            self._all_durable.clear()
            self._missing = len(self._partitions)
            for partition in self._partitions:
                append(partition, self._batch)
            await self._all_durable.wait()

    def _note(self) -> None:
        self._missing -= 1
        if not self._missing:
            self._all_durable.set()


def _sync(root: Path, count: int) -> None:
    batch = small_batch()
    number = os.open(root / "plain", os.O_RDWR | os.O_CREAT | os.O_APPEND)
    for _ in range(count):
        os.write(number, batch)
        os.fdatasync(number)
    os.close(number)


if __name__ == "__main__":
    main(cases)
