"""A broker that answers what a test says."""

from pathlib import Path
from typing import Any

from odradek.testing import Broker, Refused, Topic

Item = dict[str, Any]


class FakeBroker(Broker):
    """Answers by the name of the request; what is missing is unknown to it."""

    def __init__(self, directory: Path, *, is_shared: bool = True) -> None:
        self.directory = directory
        self.topics = []
        self.answers: dict[str, list[Item] | Exception] = {}
        self.is_shared = is_shared
        self.say("")

    def say(self, text: str) -> None:
        """Write to the log."""
        with (self.directory / "log").open("a") as log:
            log.write(text)

    def make(self, name: str) -> Topic:
        """A topic that a test has made."""
        self.topics.append(topic := Topic.of(self, name, 1))
        return topic

    def ask(self, request: str, **fields: Any) -> list[Item]:
        """What the test says."""
        answer = self.answers.get(request, Refused("unknown-request", request))
        if isinstance(answer, Exception):
            raise answer
        return answer
