"""What a scripted store has in memory, and which requests of it fail: no HTTP here.

A `Fault` is taken by the first request that it fits; where none does, chance may have
one. What is asked of it are methods, for who has it in another process.
"""

from __future__ import annotations

import hashlib
import random
import threading
import time
from dataclasses import dataclass, field
from typing import NamedTuple

BUSY = "busy"  # 503, and nothing is done
LOST = "lost"  # it is done, and the connection ends without an answer
LATE = "late"  # it is done, and the answer is 503
BROKEN = "broken"  # the connection ends, and nothing is done
EXPIRED = "expired"  # 400, as for credentials that have expired
DENIED = "denied"  # 403
CONFLICT = "conflict"  # 409: a condition cannot be looked at now, and nothing is done


class Stored(NamedTuple):
    """An object, and when it came."""

    content: bytes
    etag: str
    changed_s: float


@dataclass
class Fault:
    """Requests of a method, whose path has some text in it, fail so often.

    The first ``skipped`` of them do not.
    """

    kind: str
    method: str = ""
    path: str = ""
    times: int = 1
    skipped: int = 0

    def takes(self, method: str, path: str) -> bool:
        if not self.times or self.method not in ("", method) or self.path not in path:
            return False
        if self.skipped:
            self.skipped -= 1
            return False
        self.times -= 1
        return True


@dataclass
class ObjectServer:
    """The store; ``forgets_conditions`` makes it write over what is there."""

    buckets: set[str] = field(default_factory=lambda: {"lake"})
    objects: dict[tuple[str, str], Stored] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    forgets_conditions: bool = False
    requests: list[str] = field(default_factory=list)
    parts: dict[str, dict[int, bytes]] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)
    address: str = ""
    chance: random.Random = field(default_factory=random.Random)
    rate: float = 0.0

    def where(self) -> str:
        return f"http://{self.address}"

    def clear(self) -> None:
        """As it was in the beginning, but for who listens."""
        with self.lock:
            self.objects.clear()
            self.faults.clear()
            self.requests.clear()
            self.rate = 0.0
            self.forgets_conditions = False
            self.buckets = {"lake"}

    def fail(self, *faults: Fault) -> None:
        """These are all the faults there are from now on."""
        with self.lock:
            self.faults[:] = faults

    def fail_at_random(self, rate: float, seed: object = 0) -> None:
        """So many of all requests fail, in one way or another; 0: none any more."""
        with self.lock:
            self.rate = rate
            self.chance.seed(str(seed))

    def forget_conditions(self) -> None:
        self.forgets_conditions = True

    def drop_bucket(self, name: str = "lake") -> None:
        self.buckets.discard(name)

    def asked(self, beginning: str) -> int:
        """How many requests began like that."""
        return sum(each.startswith(beginning) for each in self.requests)

    def names(self, prefix: str = "") -> list[str]:
        """The names of the objects of all buckets, below a prefix."""
        with self.lock:
            return sorted(name for _, name in self.objects if name.startswith(prefix))

    def content(self, name: str, bucket: str = "lake") -> bytes:
        with self.lock:
            return self.objects[bucket, name].content

    def put(self, name: str, content: bytes, bucket: str = "lake") -> Stored:
        etag = f'"{hashlib.md5(content).hexdigest()}"'
        stored = self.objects[bucket, name] = Stored(content, etag, time.time())
        return stored

    def fault_for(self, method: str, path: str) -> str:
        with self.lock:
            for fault in self.faults:
                if fault.takes(method, path):
                    return fault.kind
            if self.chance.random() < self.rate:
                return self.chance.choice((BUSY, BROKEN, LOST, LATE))
        return ""
