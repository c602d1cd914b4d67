"""Rights: what the cluster lets this client see, read and write."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from odradek.protocol.acls import Operation
from odradek.protocol.errors import (
    GroupAuthorizationFailed,
    KafkaError,
    MalformedRequest,
)
from odradek.protocol.messages.metadata import MetadataRequest, MetadataResponse

from .finding import Finding

if TYPE_CHECKING:
    from odradek.client.connection import Connection
    from odradek.client.security.settings import Security

_NOT_ASKED = -(1 << 31)
_VERSION_OF_CLUSTER = (8, 10)  # of Metadata; later ones ask DescribeCluster
_SHOWN = 3


def who(security: Security | None) -> str:
    """Whom the broker takes this client for, as far as we know."""
    if security is not None and security.sasl is not None and security.sasl.user:
        return f"User:{security.sasl.user}"
    if security is not None and security.tls is not None and security.tls.certificate:
        return "the name in our certificate"
    return "User:ANONYMOUS"


def rights(
    target: str, connection: Connection, security: Security | None
) -> Finding | None:
    """What may be done with the topics that are shown; None where nobody decides."""
    request = MetadataRequest(
        topics=None,
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    try:
        version = min(connection.version_of(request), _VERSION_OF_CLUSTER[1])
        if version < _VERSION_OF_CLUSTER[0]:
            return None
        answer = connection.request(request, MetadataResponse, version)
    except (OSError, KafkaError, MalformedRequest):
        return None
    if any(x.topic_authorized_operations == _NOT_ASKED for x in answer.topics):
        return None  # a broker that does not know of it
    topics = {
        each.name or "": each.topic_authorized_operations for each in answer.topics
    }
    is_seen = answer.cluster_authorized_operations != 0
    return _finding(target, topics, is_seen=is_seen, security=security)


def _finding(
    target: str, topics: dict[str, int], *, is_seen: bool, security: Security | None
) -> Finding | None:
    name = who(security)
    grant = f"odradek acl grant {_typed(security)}"
    if not topics and not is_seen:
        return Finding(
            "rights",
            target,
            False,
            f"no topic is shown to {name}: there are none, or it may see none",
            f"Who may change lists lets it: {grant} read,write topic 'NAME*'; 'odradek"
            f" acl explain {_typed(security)} read topic NAME' says why not.",
        )
    readable = [name for name, mask in topics.items() if mask >> Operation.READ & 1]
    writable = [name for name, mask in topics.items() if mask >> Operation.WRITE & 1]
    count = len(topics)
    detail = (
        f"{name} may read {len(readable)} and write {len(writable)} of {count}"
        f" topic{'s' * (count != 1)}"
    )
    if topics and not readable and not writable:
        shown = ", ".join(list(topics)[:_SHOWN])
        advice = (
            f"None of {shown}: {grant} read,write topic {quote(next(iter(topics)))}."
        )
        return Finding("rights", target, False, detail, advice)
    return Finding("rights", target, True, detail)


def group_denied(
    target: str, error: KafkaError, security: Security | None
) -> Finding | None:
    """What helps who may not read as a group; None: that is not what is wrong."""
    if not isinstance(error, GroupAuthorizationFailed):
        return None
    return Finding(
        "groups",
        target,
        True,  # most clients have one group, and may be let into that
        f"{who(security)} may not use every group",
        f"A consumer needs its own: odradek acl grant {_typed(security)} read group"
        " NAME.",
    )


def _typed(security: Security | None) -> str:
    """The user as it is typed in a command."""
    name = who(security)
    return quote(name.removeprefix("User:")) if name.startswith("User:") else "NAME"
