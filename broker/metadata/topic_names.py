"""Which names a topic can have, and which two names are too alike."""

import re

from odradek.protocol.errors import InvalidTopic

MAX_LENGTH = 249  # with "-12345" and ".-delete" behind it, a file name stays below 255
CONSUMER_OFFSETS = "__consumer_offsets"
TRANSACTION_STATE = "__transaction_state"
SHARE_GROUP_STATE = "__share_group_state"
INTERNAL_TOPICS = frozenset({CONSUMER_OFFSETS, TRANSACTION_STATE, SHARE_GROUP_STATE})

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")


def check_name(name: str) -> None:
    """See that ``name`` is legal.

    Raises:
        InvalidTopic: it is empty, too long, a dot or two, or has other characters.
    """
    reason = _what_is_wrong(name)
    if reason is not None:
        raise InvalidTopic(f"Topic name is invalid: {reason}")


def _what_is_wrong(name: str) -> str | None:
    if not name:
        return "the empty string is not allowed"
    if name in (".", ".."):
        return f"'{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return f"the length of '{name}' is longer than the max allowed length 249"
    if not _LEGAL.fullmatch(name):
        return (
            f"'{name}' contains one or more characters other than ASCII "
            "alphanumerics, '.', '_' and '-'"
        )
    return None


def collision_key(name: str) -> str:
    """What two names that would share a metric's name have in common.

    Metrics replace dots by underscores, so ``a.b`` and ``a_b`` cannot both exist.
    """
    return name.replace(".", "_")
