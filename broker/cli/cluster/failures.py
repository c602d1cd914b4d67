"""What is said when controllers, or a metadata log, cannot be asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.refusals import refuse
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.pipe import quiet_pipe

if TYPE_CHECKING:
    from collections.abc import Callable


def said(command: str, act: Callable[[], int]) -> int:
    """The exit code of ``act``; what goes wrong is said in one line."""
    from odradek.broker.quorum.image.error import MetadataLogError
    from odradek.protocol.errors import KafkaError, MalformedRequest, UnknownTopicId

    try:
        with quiet_pipe():
            return act()
    except BrokenPipeError:  # of the standard output
        raise
    except UnknownTopicId as error:
        hint = "It is no controller: a broker is asked with --bootstrap-server."
        return refuse(command, error, hint=hint)
    except KafkaError as error:
        return refuse(command, error)
    except MetadataLogError as error:
        return fail(command, FAILED, error, name="BAD_METADATA_LOG")
    except MalformedRequest as error:
        text = f"what answers is not a Kafka controller, or a broken one: {error}"
        return fail(command, FAILED, text, name="NOT_KAFKA")
    except (ConnectionError, TimeoutError) as error:
        return fail(command, FAILED, error.strerror or error, name="UNREACHABLE")
    except OSError as error:
        return fail(command, FAILED, error.strerror or error, what=error.filename or "")
