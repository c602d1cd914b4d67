"""Entries as people type and read them: ``alice read topic 'orders-*'``."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.cli.arguments.cluster_options import word_of
from odradek.protocol.acl_entries import (
    ANYBODY,
    WILDCARD,
    AclEntry,
    PatternType,
    Permission,
)
from odradek.protocol.acls import CLUSTER_NAME, Operation, ResourceType
from odradek.terminal.spelling import did_you_mean

if TYPE_CHECKING:
    from argparse import ArgumentParser
    from collections.abc import Callable, Sequence

_USER = "User:"
_OPERATIONS = {
    each.name.lower().replace("_", "-"): each
    for each in Operation
    if each not in (Operation.UNKNOWN, Operation.ANY)
}
KINDS = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "cluster": ResourceType.CLUSTER,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
    "token": ResourceType.DELEGATION_TOKEN,
    "user": ResourceType.USER,
}
_OF_TOPICS = ("read", "write", "create", "delete", "alter", "describe")
_CONFIGS = ("describe-configs", "alter-configs")
# What there is to do to each; any broker stores an entry for more, and never asks it.
_FITTING = {
    ResourceType.TOPIC: (*_OF_TOPICS, *_CONFIGS),
    ResourceType.GROUP: ("read", "delete", "describe", *_CONFIGS),
    ResourceType.CLUSTER: (
        *("create", "alter", "describe", "cluster-action", "idempotent-write"),
        *_CONFIGS,
    ),
    ResourceType.TRANSACTIONAL_ID: ("write", "describe", "two-phase-commit"),
    ResourceType.DELEGATION_TOKEN: ("describe",),
    ResourceType.USER: ("create-tokens", "describe-tokens"),
}
_ALIASES = {"txn": "transactional-id", "delegation-token": "token"}


class Resource(NamedTuple):
    """What an entry is about: one thing, those that begin so, or all of a kind."""

    kind: ResourceType
    name: str
    pattern: PatternType = PatternType.LITERAL

    def __str__(self) -> str:
        """As people read it."""
        kind = kind_text(self.kind)
        if self.kind is ResourceType.CLUSTER:
            return "the cluster"
        if self.pattern is PatternType.PREFIXED:
            return f"every {kind} that begins with {self.name}"
        return f"every {kind}" if self.name == WILDCARD else f"{kind} {self.name}"


def principal(text: str) -> str:
    """``alice`` is ``User:alice``, ``*`` everybody; for ``type=``."""
    kind, colon, name = text.partition(":")
    if not colon or "=" in kind:
        kind, name = "User", text
    if not name or not kind.isalpha():
        raise argparse.ArgumentTypeError(
            f"{text!r} is nobody; write alice, User:alice, or * for everybody"
        )
    return f"{kind}:{name}"


def operations(text: str) -> list[Operation]:
    """Those of ``read,write``; for ``type=``."""
    known = tuple(_OPERATIONS)
    found = word_of(known)(text.replace("_", "-"))
    if not found:
        raise argparse.ArgumentTypeError(f"name one of {', '.join(known)}")
    return [_OPERATIONS[name] for name in found]


def one_operation(text: str) -> Operation:
    """A single one; for ``type=``."""
    found = operations(text)
    if len(found) > 1:
        raise argparse.ArgumentTypeError("name one operation at a time")
    return found[0]


def resource_type(text: str) -> ResourceType:
    """What kind of thing a word means; for ``type=``."""
    word = text.lower().replace("_", "-")
    word = _ALIASES.get(word, word)
    if word not in KINDS:
        meant = did_you_mean(word, KINDS)
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(KINDS)}"
        raise argparse.ArgumentTypeError(f"{text!r} is not known; {hint}")
    return KINDS[word]


def host(text: str) -> str:
    """An address as Java writes it, or a star for any; for ``type=``.

    Brokers compare whole addresses: an entry for a network, or for a name, would forbid
    nobody anything, and grant nothing; Apache Kafka compares them as text.
    """
    if text == WILDCARD:
        return text
    found = java_address(text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no address; an entry is for one, like 192.0.2.1, not for a"
            " network or a name"
        )
    return found


def java_address(text: str) -> str | None:
    """An address as Java writes it: of IPv6 all eight parts. None: it is none."""
    import ipaddress

    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    return ":".join(f"{int(part, 16):x}" for part in address.exploded.split(":"))


def resource_arguments(parser: ArgumentParser) -> None:
    """Add what an entry is about: its kind, and its name."""
    parser.add_argument(
        "kind", type=resource_type, metavar="KIND", help=f"one of {', '.join(KINDS)}"
    )
    parser.add_argument(
        "name",
        nargs="?",
        metavar="NAME",
        help="the name; with a star at its end all that begin so, a star alone: all",
    )


def entry_arguments(
    parser: ArgumentParser, read_host: Callable[[str], str] = host
) -> None:
    """Add what an entry says: who, what, on which things, from where."""
    parser.add_argument(
        "principal", type=principal, metavar="USER", help="or * for everybody"
    )
    parser.add_argument(
        "operations",
        type=operations,
        metavar="OPERATION,...",
        help=f"of {', '.join(_OPERATIONS)}",
    )
    resource_arguments(parser)
    parser.add_argument(
        "--group",
        action="append",
        default=[],
        metavar="NAME",
        help="the same user may read as this consumer group, too; again for more",
    )
    parser.add_argument(
        "--host",
        action="append",
        type=read_host,
        metavar="ADDRESS",
        help="only from this address; again for more (default: from anywhere)",
    )
    parser.add_argument(
        "--literal",
        action="store_true",
        help="a star at the end of a name is a part of it",
    )


def check_fitting(
    parser: Any, kind: ResourceType, operations: Sequence[Operation]
) -> None:
    """Ends the process where an entry would say nothing."""
    fitting = _FITTING[kind]
    for operation in operations:
        word = operation_text(operation)
        if operation != Operation.ALL and word not in fitting:
            parser.error(
                f"{word} is nothing that is done to a {kind_text(kind)}; there"
                f" are {', '.join(fitting)}, all"
            )


def resource_of(parser: Any, options: argparse.Namespace) -> Resource:
    """The resource that the arguments name. Ends the process where they cannot."""
    kind: ResourceType = options.kind
    if kind is ResourceType.CLUSTER:
        if options.name not in (None, CLUSTER_NAME):
            parser.error(f"there is one cluster; leave {options.name} out")
        return Resource(kind, CLUSTER_NAME)
    if not options.name:
        word = kind_text(kind)
        parser.error(f"which {word}? Name it; '*' stands for all of them")
    return resource(kind, options.name, is_literal=getattr(options, "literal", True))


def resource(kind: ResourceType, name: str, *, is_literal: bool = False) -> Resource:
    """What a name with a star at its end stands for."""
    if name == WILDCARD or is_literal or not name.endswith(WILDCARD):
        return Resource(kind, name)
    return Resource(kind, name.removesuffix(WILDCARD), PatternType.PREFIXED)


def entries_of(
    parser: Any, options: argparse.Namespace, permission: Permission
) -> list[AclEntry]:
    """The entries that the arguments of `entry_arguments` mean."""
    asked = [
        (operation, resource_of(parser, options)) for operation in options.operations
    ]
    for name in options.group:
        group = resource(ResourceType.GROUP, name, is_literal=options.literal)
        asked.append((Operation.READ, group))
    return [
        entry(options.principal, operation, what, host, permission)
        for operation, what in asked
        for host in options.host or [WILDCARD]
    ]


def entry(
    who: str, operation: int, what: Resource, host: str, permission: int
) -> AclEntry:
    """One entry."""
    return AclEntry(
        what.kind, what.name, what.pattern, who, host, operation, permission
    )


def entry_text(each: AclEntry) -> str:
    """An entry as a sentence."""
    who = "everybody" if each.principal == ANYBODY else each.principal
    may = "may" if each.permission == Permission.ALLOW else "may not"
    where = "" if each.host == WILDCARD else f" from {each.host}"
    what = Resource(
        ResourceType(each.resource_type),
        each.resource_name,
        PatternType(each.pattern_type),
    )
    return f"{who} {may} {operation_text(each.operation)} {what}{where}"


def operation_text(operation: int) -> str:
    """An operation as people type it."""
    if operation == Operation.ALL:
        return "do everything to"
    return Operation(operation).name.lower().replace("_", "-")


def kind_text(kind: int) -> str:
    """A kind of thing as people type it."""
    return next(name for name, each in KINDS.items() if each == kind)


def as_json(each: AclEntry) -> dict[str, str]:
    """An entry for programs, in Kafka's words."""
    return {
        "principal": each.principal,
        "permission": Permission(each.permission).name,
        "operation": Operation(each.operation).name,
        "resourceType": ResourceType(each.resource_type).name,
        "resourceName": each.resource_name,
        "patternType": PatternType(each.pattern_type).name,
        "host": each.host,
    }


def rows(entries: Sequence[AclEntry]) -> list[tuple[str, ...]]:
    """Entries as the rows of a table."""
    return [
        (
            each.principal,
            Permission(each.permission).name.lower(),
            Operation(each.operation).name.lower().replace("_", "-"),
            kind_text(each.resource_type),
            f"{each.resource_name}*"
            if each.pattern_type == PatternType.PREFIXED
            else each.resource_name,
            each.host,
        )
        for each in entries
    ]
