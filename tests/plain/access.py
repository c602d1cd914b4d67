"""What access control lists decide, entry by entry: the rules as they are told."""

from collections.abc import Iterable

from odradek.protocol.acl_entries import AclEntry, PatternType, Permission
from odradek.protocol.acls import Operation

_DESCRIBES = {Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}


def may(
    entries: Iterable[AclEntry],
    who: tuple[str, str],
    operation: int,
    kind: int,
    name: str,
    *,
    allows_untouched: bool = False,
) -> bool:
    """Whether ``who``, a principal and a host, may do it to the resource."""
    touching = [each for each in entries if touches(each, kind, name)]
    if not touching:
        return allows_untouched
    holding = [
        each
        for each in touching
        if each.principal in (who[0], "User:*") and each.host in (who[1], "*")
    ]
    if any(
        each.permission == Permission.DENY
        and each.operation in (operation, Operation.ALL)
        for each in holding
    ):
        return False
    return any(
        each.permission == Permission.ALLOW and implies(each.operation, operation)
        for each in holding
    )


def touches(entry: AclEntry, kind: int, name: str) -> bool:
    if entry.resource_type != kind:
        return False
    if entry.pattern_type == PatternType.PREFIXED:
        return name.startswith(entry.resource_name)
    return entry.resource_name in ("*", name)


def implies(allowed: int, operation: int) -> bool:
    if allowed in (operation, Operation.ALL):
        return True
    if operation == Operation.DESCRIBE:
        return allowed in _DESCRIBES
    return (allowed, operation) == (
        Operation.ALTER_CONFIGS,
        Operation.DESCRIBE_CONFIGS,
    )


def may_any(
    entries: Iterable[AclEntry], who: tuple[str, str], operation: int, kind: int
) -> bool:
    """Whether some name is allowed: an entry allows it that no deny covers whole."""
    holding = [
        each
        for each in entries
        if each.resource_type == kind
        and each.operation in (operation, Operation.ALL)
        and each.principal in (who[0], "User:*")
        and each.host in (who[1], "*")
    ]
    denied = [each for each in holding if each.permission == Permission.DENY]
    return any(
        each.permission == Permission.ALLOW
        and not any(_covers(deny, each) for deny in denied)
        for each in holding
    )


def _covers(deny: AclEntry, allow: AclEntry) -> bool:
    """Whether all names of ``allow`` are names of ``deny``."""
    name = allow.resource_name
    is_literal = deny.pattern_type == PatternType.LITERAL
    if is_literal and deny.resource_name == "*":
        return True
    is_wildcard = allow.pattern_type == PatternType.LITERAL and name == "*"
    if is_wildcard:
        return False
    if is_literal:
        return (deny.pattern_type, deny.resource_name) == (allow.pattern_type, name)
    return name.startswith(deny.resource_name)
