"""What all connections of a broker share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from protocol.framing import ReceiveChunk

if TYPE_CHECKING:
    from ..answer_memory import AnswerMemory
    from ..clock import Clock
    from ..config.broker_config import BrokerConfig
    from ..handlers.dispatch import Dispatcher
    from .admission import Admission
    from .busy_poll import BusyPoll
    from .limits import LimitedLog, RequestMemory


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
