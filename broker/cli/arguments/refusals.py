"""What a command says when a cluster refuses something, or cannot be asked."""

from __future__ import annotations

from contextlib import suppress
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from odradek.terminal.failure import FAILED, fail
from odradek.terminal.spelling import did_you_mean

if TYPE_CHECKING:
    import argparse
    from collections.abc import Collection, Mapping

    from odradek.client.cluster import Cluster
    from odradek.protocol.errors import MalformedRequest

_PORT = 9092
_NEAR = 0.8  # names of topics are often alike
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


class Refused(Exception):
    """What was asked for cannot be done; the message says why.

    ``what`` is the topic or group that it is about, where that is another one than the
    command's; ``name`` is Kafka's of the error.
    """

    def __init__(self, message: str, *, what: str = "", name: str = "") -> None:
        super().__init__(message)
        self.what = what
        self.name = name


def refuse(
    command: str,
    error: Exception,
    what: str = "",
    *,
    hint: str = "",
    row: Mapping[str, Any] | None = None,
) -> int:
    """Say why something was refused; the exit code. ``hint`` follows the message."""
    message = str(error)
    if hint[:1].isupper() and not message.endswith((".", "!", "?")):
        message += "."
    message = f"{message} {hint}".strip()
    if isinstance(error, Refused):
        what, name = error.what or what, error.name
    else:
        name = name_of(error)
    return fail(command, FAILED, message, what=what, kafka_name=name, row=row)


def name_of(error: Exception) -> str:
    """The name that Kafka has for an error; empty for one that is not Kafka's."""
    code = getattr(error, "code", None)
    return code.name if isinstance(code, IntEnum) else ""


def near_name(cluster: Cluster, error: Exception, name: str) -> str:
    """A question for who meant another name, when the error is that there is no such.

    The cluster is asked for the names that there are; if it does not answer, the
    failure that is to be told is not this one.
    """
    from odradek.protocol.errors import KafkaError, MalformedRequest

    with suppress(KafkaError, MalformedRequest, OSError):
        known = _names_like(cluster, error)
        meant = None if name in known else did_you_mean(name, known, _NEAR)
        return f"Did you mean {meant}?" if meant else ""
    return ""


def _names_like(cluster: Cluster, error: Exception) -> Collection[str]:
    from odradek.protocol.errors import (
        GroupIdNotFound,
        ResourceNotFound,
        TransactionalIdNotFound,
        UnknownTopicOrPartition,
    )

    if isinstance(error, UnknownTopicOrPartition):
        return cluster.metadata().topics
    if isinstance(error, GroupIdNotFound):
        from odradek.client.groups import list_groups

        return [group.group_id for group in list_groups(cluster)]
    if isinstance(error, TransactionalIdNotFound):
        from odradek.client.transactions import TransactionFilter, list_transactions

        found = list_transactions(cluster, TransactionFilter())
        return [each.transactional_id for each in found]
    if isinstance(error, ResourceNotFound):
        from odradek.client.scram import describe_users

        return describe_users(cluster).found
    return ()


def refuse_named(
    command: str,
    cluster: Cluster,
    error: Exception,
    name: str,
    *,
    row: Mapping[str, Any] | None = None,
) -> int:
    """Say why something was refused, and which name may have been meant."""
    hint = near_name(cluster, error, name)
    return refuse(command, error, name, hint=hint, row=row)


def not_asked(
    command: str, error: OSError | MalformedRequest, options: argparse.Namespace
) -> int:
    """Say why a cluster could not be asked; the exit code.

    ``options`` are those of a `ClusterParser`.
    """
    from odradek.client.errors import NoAnswer, TlsFailed, Unreachable

    if not isinstance(error, OSError):
        text = f"what answers is not a Kafka broker, or a broken one: {error}"
        return fail(command, FAILED, f"{text}; {_doctor(options)}", name="NOT_KAFKA")
    what = error.filename or ""
    reason = error.strerror or str(error)
    if isinstance(error, TlsFailed):
        text = f"{reason}; {_doctor(options)}"
        return fail(command, FAILED, text, name="TLS_FAILED")
    if isinstance(error, Unreachable):
        text = f"{reason}; {_advice(options, error.__cause__)}"
        return fail(command, FAILED, text, name="UNREACHABLE")
    name = "NO_ANSWER" if isinstance(error, NoAnswer) else ""
    return fail(command, FAILED, reason, what=what, name=name)


def _advice(options: argparse.Namespace, cause: BaseException | None) -> str:
    asked = options.bootstrap_server
    if isinstance(cause, ConnectionResetError) and not options.command_config:
        return f"it may expect TLS: --command-config FILE does that; {_doctor(options)}"
    is_free = isinstance(cause, ConnectionRefusedError)
    if is_free and len(asked) == 1 and asked[0].host in _LOOPBACK:
        port = "" if asked[0].port == _PORT else f" --port {asked[0].port}"
        return f"'odradek serve{port}' starts a broker there, {_doctor(options)}"
    return _doctor(options)


def _doctor(options: argparse.Namespace) -> str:
    addresses = ",".join(map(str, options.bootstrap_server))
    is_usual = addresses == f"127.0.0.1:{_PORT}"
    told = "" if is_usual else f" --bootstrap-server {addresses}"
    if options.command_config:
        told += f" --command-config {options.command_config}"
    return f"'odradek doctor{told}' finds out what is wrong"
