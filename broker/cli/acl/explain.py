"""``odradek acl explain``: may somebody do something, and which entry decides?

The entries of the cluster are looked at in Kafka's order, as its broker would; so it
works with any Kafka. Who the super users are a cluster tells those alone who may see
its options.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.protocol.acl_entries import ANYBODY, WILDCARD, AclEntry, Permission
from odradek.protocol.acls import Operation
from odradek.terminal.table import printable

from .refused import refuse_acl
from .words import (
    Resource,
    as_json,
    check_fitting,
    entry_text,
    one_operation,
    operation_text,
    principal,
    resource_arguments,
    resource_of,
)

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "acl explain"
_SUPER_USERS, _UNTOUCHED = "super.users", "allow.everyone.if.no.acl.found"
_EXAMPLES = (
    "odradek acl explain alice read topic orders-eu",
    "odradek acl explain bob write topic orders --host 192.0.2.1 --json",
)


class _Cluster(NamedTuple):
    """What decides besides the entries; None: the cluster does not tell."""

    super_users: str | None
    allows_untouched: bool | None


class _Answer(NamedTuple):
    """What decides: an entry, or the name of a rule; and what may let in all the same.

    ``untold`` are options of the broker, of which it does not say what they are.
    """

    rule: AclEntry | str
    is_allowed: bool
    untold: list[str]


def command(arguments: list[str]) -> int:
    """Say whether somebody may do something, and why."""
    parser = cluster_parser(
        _COMMAND,
        "Say whether a user may do something to one thing, and which entry decides.",
        _EXAMPLES,
    )
    parser.add_argument("principal", type=principal, metavar="USER")
    parser.add_argument("operation", type=one_operation, metavar="OPERATION")
    resource_arguments(parser)
    parser.add_argument(
        "--host",
        default="",
        metavar="ADDRESS",
        help="from where (default: from an address that no entry names)",
    )
    options = parser.parse(arguments)
    check_fitting(parser, options.kind, [options.operation])
    what = resource_of(parser, options)
    return run(_COMMAND, options, lambda cluster: _explain(cluster, options, what))


def _explain(cluster: Cluster, options: argparse.Namespace, what: Resource) -> int:
    from odradek.broker.metadata.access.access import Access, Rules
    from odradek.broker.metadata.access.acl_index import AclIndex, plain_host
    from odradek.client.acls import describe_acls
    from odradek.protocol.errors import KafkaError

    try:
        entries = describe_acls(cluster)
    except KafkaError as error:
        return refuse_acl(_COMMAND, error)
    told, index = _told(cluster), AclIndex(entries)
    super_users = frozenset(map(str.strip, (told.super_users or "").split(";")))
    rules = Rules(index, super_users, bool(told.allows_untouched))
    access = Access(rules, options.principal, plain_host(options.host))
    asked = (options.operation, what.kind, what.name)
    is_allowed = access.may(*asked)
    untold = [_SUPER_USERS] if told.super_users is None else []
    if told.allows_untouched is None and not index.touches(what.kind, what.name):
        untold.append(_UNTOUCHED)
    answer = _Answer(access.rule(*asked), is_allowed, [] if is_allowed else untold)
    if options.json:
        print_json(_row(answer))
        return 0
    lines = [_verdict(options, what, is_allowed), *_reasons(answer, options, what)]
    if not options.host:
        lines += _elsewhere(entries, options, what)
    print("\n".join(map(printable, lines)))
    return 0


def _row(answer: _Answer) -> dict[str, object]:
    rule = answer.rule
    row: dict[str, object] = {"allowed": answer.is_allowed}
    row["entry"] = as_json(rule) if isinstance(rule, AclEntry) else None
    row["rule"] = None if isinstance(rule, AclEntry) else rule
    return row | ({"untold": answer.untold} if answer.untold else {})


def _told(cluster: Cluster) -> _Cluster:
    """What the options of a broker say, as far as we may see them."""
    from odradek.client.configs import (
        ConfigResource,
        ConfigResourceType,
        describe_configs,
    )
    from odradek.protocol.errors import KafkaError

    with suppress(KafkaError, StopIteration):
        node = next(iter(cluster.metadata(()).brokers))
        broker = ConfigResource(ConfigResourceType.BROKER, str(node))
        found = describe_configs(cluster, broker, [_SUPER_USERS, _UNTOUCHED])
        # Apache Kafka names what is set, no more, and keeps the values to itself: they
        # are of the authorizer's options, which it takes for secrets.
        values = {each.name: each.value for each in found}
        untouched = values.get(_UNTOUCHED, "")
        return _Cluster(
            values.get(_SUPER_USERS, ""),
            None if untouched is None else untouched.lower() == "true",
        )
    return _Cluster(None, None)


def _verdict(options: argparse.Namespace, what: Resource, is_allowed: bool) -> str:
    who = "everybody" if options.principal == ANYBODY else options.principal
    may = "yes" if is_allowed else "no"
    cannot = "may" if is_allowed else "may not"
    where = f" from {options.host}" if options.host else ""
    operation = operation_text(options.operation)
    return f"{may}: {who} {cannot} {operation} {what}{where}"


def _reasons(answer: _Answer, options: argparse.Namespace, what: Resource) -> list[str]:
    rule, who = answer.rule, options.principal
    if rule == "SuperUser":
        return [f"decided by: {who} is one of {_SUPER_USERS}"]
    if rule == "DefaultAllow":
        return [
            f"decided by: no entry touches {what}, and {_UNTOUCHED}=true lets everybody"
        ]
    if isinstance(rule, AclEntry):
        lines = _of_entry(rule, options)
    else:
        lines = [f"no entry grants it; this would: {_grant(options, what)}"]
    if _SUPER_USERS in answer.untold:
        lines.append(f"(who is of {_SUPER_USERS} may; the broker does not tell us who)")
    if _UNTOUCHED in answer.untold:
        lines.append(f"({_UNTOUCHED} may let everybody; the broker does not tell us)")
    return lines


def _of_entry(rule: AclEntry, options: argparse.Namespace) -> list[str]:
    lines = [f"decided by: {entry_text(rule)}"]
    if rule.operation not in (options.operation, Operation.ALL):
        lines.append(
            f"who may {operation_text(rule.operation)} may"
            f" {operation_text(options.operation)}, too"
        )
    if rule.permission == Permission.DENY:
        lines.append("what forbids is stronger than all that grants")
    return lines


def _grant(options: argparse.Namespace, what: Resource) -> str:
    from shlex import quote

    who = options.principal.removeprefix("User:")
    operation = options.operation.name.lower().replace("_", "-")
    name = f" {quote(what.name)}" if options.name else ""
    kind = what.kind.name.lower().replace("_", "-").replace("delegation-", "")
    return f"odradek acl grant {quote(who)} {operation} {kind}{name}"


def _elsewhere(
    entries: list[AclEntry], options: argparse.Namespace, what: Resource
) -> list[str]:
    """The entries for single hosts, of which none is the one that was asked about."""
    from odradek.broker.metadata.access.acl_index import AclIndex

    hosts = sorted({each.host for each in entries if each.host != WILDCARD})
    found: dict[AclEntry, None] = {}
    for host in hosts:
        index = AclIndex(each for each in entries if each.host == host)
        for each in index.matching(options.principal, host, what.kind, what.name):
            if each.operation in (options.operation, Operation.ALL):
                found[each] = None
    return [f"but: {entry_text(each)}" for each in found]
