"""Apache Kafka and this broker, asked the same by Apache Kafka's own tools."""

from typing import NamedTuple

from tests.apache_kafka.java_client import Broker, JavaClient, JavaFailure
from tests.apache_kafka.node import KafkaNode

SERVER = "SERVER"  # in arguments: the address of the broker that is asked
_ASKING = {"--describe", "--list", "describe", "list"}
_TRACE = ("\tat ", "\t... ", "Caused by: ", "Scenes$Ended: ")


class Printed(NamedTuple):
    """What a tool has printed, in lines without traces; ``failed`` if it ended so."""

    lines: list[str]
    failed: bool


class BothBrokers(NamedTuple):
    """One Java process, one Apache Kafka, one of ours, for many tests.

    What a test makes has names of its own, and is left behind. What a tool changes of
    Apache Kafka is there when it returns: the next one may ask for it at once.
    """

    java: JavaClient
    kafka: Broker
    ours: Broker

    def run(
        self, tool: str, *arguments: str, text: str | None = None
    ) -> tuple[Printed, Printed]:
        """What a tool prints of both, Apache Kafka first; ``text`` is what it reads."""
        return (
            self._run(self.kafka, tool, arguments, text),
            self._run(self.ours, tool, arguments, text),
        )

    def same(self, tool: str, *arguments: str, text: str | None = None) -> list[str]:
        """The same is printed of both."""
        kafka, ours = self.run(tool, *arguments, text=text)
        assert not kafka.failed, kafka.lines
        assert ours == kafka, f"{tool} {arguments}: {ours}, {kafka}"
        return ours.lines

    def list_group(self, group: str, tool: str, *arguments: str) -> list[str]:
        """The lines about ``group``, the same of both.

        What other tests leave behind ends on each broker at its own time.
        """
        kafka, ours = self.run(tool, *arguments, "--list")
        assert not kafka.failed, kafka.lines
        assert not ours.failed, ours.lines
        expected, found = (
            [line for line in printed.lines if group in line.split()]
            for printed in (kafka, ours)
        )
        assert found == expected
        return found

    def both_fail(self, tool: str, *arguments: str) -> str:
        """Both end badly, with the same words; returns these."""
        kafka, ours = self.run(tool, *arguments)
        assert kafka.failed
        assert ours == kafka
        return "\n".join(ours.lines)

    def _run(
        self, broker: Broker, tool: str, arguments: tuple[str, ...], text: str | None
    ) -> Printed:
        words = [each.replace(SERVER, broker.address) for each in arguments]
        try:
            if text is None:
                printed = self.java.tool(tool, *words)
            else:
                printed = self.java.feed(text, tool, *words)
        except JavaFailure as failure:
            return Printed(_lines(str(failure), broker), failed=True)
        if isinstance(broker, KafkaNode) and _ASKING.isdisjoint(words):
            broker.settle()
        return Printed(_lines(printed, broker), failed=False)


def _lines(text: str, broker: Broker) -> list[str]:
    for address in (broker.address, broker.address.replace(":", " ")):
        text = text.replace(address, SERVER)
    lines = [line.rstrip() for line in text.splitlines()]
    return [line for line in lines if line and not line.startswith(_TRACE)]
