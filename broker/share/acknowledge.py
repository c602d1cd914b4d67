"""What members say of records that they were given, and whether it makes sense."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import InvalidRecordState, InvalidRequest

from .record_states import AcknowledgeType

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from .in_flight import InFlight

_TYPES = frozenset(AcknowledgeType)


class Acknowledged(NamedTuple):
    """What a member says of offsets: one type for all, or one for each."""

    first: int
    last: int
    types: Sequence[int]


def check_said(said: Sequence[Acknowledged], *, may_renew: bool) -> None:
    """See that it makes sense, whoever says it, and whatever was handed out.

    ``may_renew``: the request says that there is a renewal in it.

    Raises:
        InvalidRequest: it makes none.
    """
    before = -1
    for first, last, types in said:
        if first > last:
            raise InvalidRequest(f"Offsets {first} to {last} end before they begin.")
        if first <= before:
            raise InvalidRequest(f"Offset {first} comes twice, or in no order.")
        if not types or len(types) not in (1, last - first + 1):
            raise InvalidRequest(
                f"Offsets {first} to {last} need one type, or one each: there are "
                f"{len(types)}."
            )
        for kind in types:
            if kind == AcknowledgeType.RENEW and not may_renew:
                raise InvalidRequest(
                    "A request that renews locks must say that it does."
                )
            if kind not in _TYPES:
                raise InvalidRequest(f"There is no acknowledgement of type {kind}.")
        before = last


def check_held(
    in_flight: InFlight, start: int, member_id: str, said: Sequence[Acknowledged]
) -> None:
    """See that the member has all of it. What is below the start is finished.

    Raises:
        InvalidRequest: it is beyond what was handed out.
        InvalidRecordState: the member does not have one of these.
    """
    handed_out = in_flight.last
    for first, last, _ in said:
        if last >= start and (handed_out is None or last > handed_out):
            raise InvalidRequest(
                f"Offsets {first} to {last} were not handed out to anybody."
            )
    for first, last, _ in said:
        cursor = max(first, start)
        for each in in_flight.within(cursor, last) if cursor <= last else ():
            is_theirs = each.is_held and each.member_id == member_id
            if each.first != cursor or not is_theirs:
                raise InvalidRecordState(
                    f"Member {member_id} does not have offset {cursor}."
                )
            cursor = each.last + 1
        if cursor <= last:
            raise InvalidRecordState(f"Nobody has offset {cursor}.")


def by_type(said: Acknowledged) -> Iterable[tuple[int, int, int]]:
    """Offsets in a row with one type: first, last, type."""
    first, last, types = said
    if len(types) == 1:
        yield first, last, types[0]
        return
    begin = 0
    for at in range(1, len(types) + 1):
        if at == len(types) or types[at] != types[begin]:
            yield first + begin, first + at - 1, types[begin]
            begin = at
