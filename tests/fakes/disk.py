"""What the file system in memory is made of: files, directories, faults to come."""

from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path


@dataclass(eq=False)
class Content:
    """What a file holds, and what of it a power cut leaves."""

    data: bytearray = field(default_factory=bytearray)
    durable: bytes = b""
    modified_ms: int = 0
    is_cold: bool = False
    is_linked: bool = False  # at some time
    lost_from: int | None = None
    lost_to: int = 0

    def sync(self) -> None:
        """Make durable what the kernel calls dirty: not what a failed sync lost."""
        durable = bytearray(self.data)
        if self.lost_from is not None:
            lost = slice(self.lost_from, min(self.lost_to, len(durable)))
            durable[lost] = bytes(len(durable[lost]))
        self.durable = bytes(durable)

    def fail_sync(self) -> None:
        """The kernel marks the pages clean, and they are not on disk."""
        pairs = zip(self.durable, self.data, strict=False)
        same = takewhile(lambda pair: pair[0] == pair[1], pairs)
        self.lost_from, self.lost_to = sum(1 for _ in same), len(self.data)


@dataclass(eq=False)
class Directory:
    """Names, and those of them that a power cut leaves."""

    names: "dict[str, Content | Directory]" = field(default_factory=dict)
    durable: "dict[str, Content | Directory]" = field(default_factory=dict)


@dataclass
class Fault:
    """The ``countdown``-th call of ``operation`` (None: any) fails."""

    operation: str | None
    countdown: int
    error: int


def lose(directory: Directory) -> None:
    """Drop what is not durable, below a directory."""
    directory.names = dict(directory.durable)
    for node in directory.names.values():
        if isinstance(node, Directory):
            lose(node)
        else:
            node.data = bytearray(node.durable)


def walk(directory: Directory, path: Path) -> list[Path]:
    """The files below a directory, the path of which is ``path``."""
    nodes = [(path / name, node) for name, node in directory.names.items()]
    return [
        each
        for place, node in nodes
        for each in (walk(node, place) if isinstance(node, Directory) else [place])
    ]
