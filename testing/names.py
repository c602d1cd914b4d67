"""Names of what a test makes: topics, groups, transactional ids.

Whatever a test is called, the name is one that Kafka takes, says which test it was, and
no other test of the run gets it: ``<test>-<worker>-<number>``.
"""

from __future__ import annotations

import re

# Kafka takes 249; `__transaction_state` and the like are longer than nothing.
_TEST_LENGTH_MAX = 200
# No dot: a name with one and a name with "_" in its place are the same in metrics,
# so that Kafka refuses the second.
_OTHER = re.compile(r"[^a-zA-Z0-9_]+")
# How pytest-xdist calls its workers.
_OF_ANY = re.compile(r"-gw\d+-\d+\b")


class Names:
    """The names of a process; ``worker`` is in each, and no other process has it."""

    def __init__(self, worker: str) -> None:
        self._worker = worker
        self._of_worker = re.compile(rf"-{re.escape(worker)}-\d+\b")
        self._counts: dict[str, int] = {}

    def next(self, test: str) -> str:
        """A name that nobody has had."""
        start = self.start(test)
        # Not every file system tells large letters from small ones.
        key = start.lower()
        self._counts[key] = number = self._counts.get(key, 0) + 1
        return f"{start}{number}"

    def start(self, test: str) -> str:
        """How all names of that test begin."""
        readable = _OTHER.sub("-", test)[:_TEST_LENGTH_MAX].strip("-") or "test"
        return f"{readable}-{self._worker}-"

    def concerns_others(self, line: str) -> bool:
        """Whether a line of a log names what other workers have made, and not ours."""
        return bool(_OF_ANY.search(line)) and not self._of_worker.search(line)
