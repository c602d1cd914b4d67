"""A broker in memory with rules and a journal, and who asks it."""

import contextlib
import struct
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, TypeVar

from odradek.broker.control.faults.requests import parsed
from odradek.broker.control.faults.rules import Rule, Rules
from odradek.broker.control.journal.journal import Journal
from odradek.broker.control.journal.reading import Reading
from odradek.broker.handlers import load as load_handlers
from odradek.broker.network.entry import Layers
from odradek.protocol.headers import decode_response
from odradek.protocol.messages.produce import ProduceResponse
from odradek.protocol.schema import Response
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.network import FakeTransport, settle
from tests.fakes.replicas import Replicas, replicas
from tests.fakes.traced import PRODUCE_VERSION, Traced

ResponseT = TypeVar("ResponseT", bound=Response)


class Faulty(Traced):
    """A broker with the topic ``t`` of two partitions, and one connection."""

    def __init__(self, broker: Replicas, **limits: int) -> None:
        super().__init__(broker)
        services: Any = broker.services
        self.layers = layers = Layers(self.dispatcher, [self.listener])
        self.rules = Rules(services, self.dispatcher, layers)
        self.reading = Reading(self.dispatcher, services)
        self.journal = Journal(services, self.reading, layers, self.rules, **limits)
        self.metadata = services.metadata

    @property
    def is_untouched(self) -> bool:
        """Whether connections call the dispatcher itself."""
        own = self.dispatcher.dispatch
        entries = [each._dispatch for each in self.listener.connections]
        return self.dispatcher.entry == own and all(each == own for each in entries)

    def arm(self, **rule: Any) -> Rule:
        """As ``faults.arm`` does."""
        return self.rules.arm(*parsed(rule, self.metadata))

    def answers(
        self,
        cls: type[ResponseT],
        version: int,
        transport: FakeTransport | None = None,
    ) -> list[ResponseT]:
        """What a client was answered."""
        sent, position, found = (transport or self.transport).sent, 0, []
        while position < len(sent):
            (size,) = struct.unpack_from(">i", sent, position)
            frame = sent[position + 4 : position + 4 + size]
            found.append(decode_response(bytes(frame), cls, version)[1])
            position += 4 + size
        return found

    def codes(self, transport: FakeTransport | None = None) -> list[dict[int, int]]:
        """Of each Produce's answer the errors by partitions."""
        return [
            {
                each.index: each.error_code
                for topic in answer.responses
                for each in topic.partition_responses
            }
            for answer in self.answers(ProduceResponse, PRODUCE_VERSION, transport)
        ]

    def end_of(self, partition: int) -> int:
        """How many records there are."""
        log = self.broker.logs.get(TopicPartition("t", partition))
        return 0 if log is None else log.log_end_offset


@contextlib.asynccontextmanager
async def faulty(directory: Path, **limits: int) -> AsyncIterator[Faulty]:
    """Such a broker, which acknowledges at once; no bug is met meanwhile."""
    load_handlers()
    async with replicas(directory, durability="none") as broker:
        await broker.create_topic("t", 2)
        made = Faulty(broker, **limits)
        yield made
        made.rules.clear(list(made.rules))
        await settle()
        assert broker.bugs == []
