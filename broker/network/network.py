"""What all connections of a broker share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from odradek.protocol.framing import ReceiveChunk

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.config.options.listener import HostPort
    from odradek.broker.requests.dispatch import Dispatcher
    from odradek.broker.runtime.clock import Clock
    from odradek.broker.runtime.memory.answer_memory import AnswerMemory
    from odradek.broker.runtime.memory.limits import LimitedLog, RequestMemory

    from .admission import Admission
    from .busy_poll import BusyPoll


def _nowhere() -> HostPort | None:
    """Nobody serves HTTP."""
    return None


@dataclass(frozen=True, slots=True)
class Network:
    """What all connections of a broker share."""

    options: BrokerConfig
    dispatcher: Dispatcher
    clock: Clock
    memory: RequestMemory
    answers: AnswerMemory
    admission: Admission
    log: LimitedLog
    chunk: ReceiveChunk = field(default_factory=ReceiveChunk)
    busy_poll: BusyPoll | None = None
    http_address: Callable[[], HostPort | None] = _nowhere  # of metrics and health
