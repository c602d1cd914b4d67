"""What is said when there is no such user: perhaps another one was meant."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.refusals import refuse
from odradek.terminal.spelling import did_you_mean

if TYPE_CHECKING:
    from odradek.protocol.errors import KafkaError

    from .doors import Door

_NEAR = 0.8


def refuse_user(command: str, door: Door, error: KafkaError, name: str) -> int:
    """Say why something was refused, and which user may have been meant."""
    from odradek.protocol.errors import KafkaError, MalformedRequest, ResourceNotFound

    hint = ""
    if isinstance(error, ResourceNotFound):
        with suppress(KafkaError, MalformedRequest, OSError):
            known = door.describe().found
            meant = None if name in known else did_you_mean(name, known, _NEAR)
            hint = f"Did you mean {meant}?" if meant else ""
    return refuse(command, error, name, hint=hint)
