"""What is said when a cluster refuses a question about its lists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.refusals import refuse

if TYPE_CHECKING:
    from odradek.protocol.errors import KafkaError


def refuse_acl(command: str, error: KafkaError, what: str = "") -> int:
    """Say why something was refused; the exit code."""
    from odradek.protocol.errors import SecurityDisabled

    hint = ""
    if isinstance(error, SecurityDisabled):
        hint = "Start the broker with authorizer.class.name=acl, or with --secure."
    return refuse(command, error, what, hint=hint)
