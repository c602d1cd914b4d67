"""Errors put into answers, at the place that the API has for them.

`without_meant` splits a request into what a rule means and the rest; `mark` puts an
error into an answer that is there; `merge` puts refused parts into it.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from odradek.broker.control.subject import (
    identity_of,
    is_topic,
    list_name_of,
    lists_of,
    name_of,
    number_of,
    parts_of,
)
from odradek.protocol.schema import Struct

from .codes import KEY, PARTITION, TOPIC, WHOLE

if TYPE_CHECKING:
    from odradek.broker.requests.services import Services
    from odradek.protocol.errors import ErrorCode

    from .match import Match

_KEYS = ("group_id", "key", "transactional_id")
_ERRORS = ("error_code", "partition_error_code")
_NAMES = ("topic_names",)
# What an answer says beside an error, where it has such a field.
_NOTHING: dict[str, Any] = {
    **dict.fromkeys(
        ("base_offset", "committed_offset", "high_watermark", "offset"), -1
    ),
    "records": b"",
    "aborted_transactions": None,
    "error_message": None,
}
_NOTHING_AT: dict[str, dict[str, Any]] = {
    PARTITION: {"leader_id": -1},
    TOPIC: {"partitions": []},
    KEY: {"topics": [], "node_id": -1, "host": "", "port": -1},
}


class Refusal:
    """One error, for what a rule means."""

    def __init__(
        self, match: Match, place: str, code: ErrorCode, services: Services
    ) -> None:
        self._match = match
        self._place = place
        self._code = code
        self._services = services

    # What is asked.

    def without_meant(self, request: Any) -> tuple[Any, Any]:
        """What is meant of a request, and the rest; None where that is nothing."""
        if not self._match.names_places:
            return request, None
        meant, rest = self._part(request, True), self._part(request, False)
        return (meant if _has_topics(meant) else None), (
            rest if _has_topics(rest) else None
        )

    def _part(self, part: Any, is_meant: bool) -> Any:
        made = copy.copy(part)
        for name, values in lists_of(part):
            setattr(made, name, list(self._kept(name, values, is_meant)))
        return made

    def _kept(self, list_name: str, values: list[Any], is_meant: bool) -> list[Any]:
        kept: list[Any] = []
        for each in values:
            if list_name in _NAMES:
                if self._match.has_place(each, None) is is_meant:
                    kept.append(each)
            elif not is_topic(each):
                kept.append(
                    self._part(each, is_meant) if isinstance(each, Struct) else each
                )
            else:
                kept += self._kept_topic(each, is_meant)
        return kept

    def _kept_topic(self, topic: Any, is_meant: bool) -> list[Any]:
        name, partitions = name_of(topic, self._services), list_name_of(topic)
        if partitions is None:
            return [topic] if self._match.has_place(name, None) is is_meant else []
        kept = [
            each
            for each in getattr(topic, partitions)
            if self._match.has_place(name, number_of(each)) is is_meant
        ]
        if not kept:
            return []
        made = copy.copy(topic)
        setattr(made, partitions, kept)
        return [made]

    # What is answered.

    def mark(self, response: Any) -> Any:
        """The same response, with the error at what is meant of it."""
        if self._place == WHOLE or not self._mark_in(response):
            self._set(response)
        return response

    def _mark_in(self, part: Struct) -> bool:
        is_marked = False
        for _, values in lists_of(part):
            for each in values:
                if isinstance(each, Struct):
                    is_marked |= self._mark_part(each)
        return is_marked

    def _mark_part(self, part: Any) -> bool:
        if is_topic(part):
            return self._mark_topic(part)
        if self._place == KEY and self._is_meant_key(part):
            return self._set(part)
        return self._mark_in(part)

    def _mark_topic(self, topic: Any) -> bool:
        name = name_of(topic, self._services)
        if not self._match.has_place(name, None):
            return True  # a place for it, but not what is meant
        if self._place == TOPIC:
            return self._set(topic)
        for each in parts_of(topic):
            if self._match.has_place(name, number_of(each)):
                self._set(each)
        return True

    def _is_meant_key(self, part: Any) -> bool:
        found = {name: getattr(part, name) for name in _KEYS if hasattr(part, name)}
        if not found or not _has_error(part):
            return False
        return self._match.has_key(next(iter(found.values())))

    def _set(self, part: Any) -> bool:
        for name in _ERRORS:
            if hasattr(part, name):
                setattr(part, name, int(self._code))
        for name, nothing in (_NOTHING | _NOTHING_AT.get(self._place, {})).items():
            if hasattr(part, name):
                setattr(part, name, copy.copy(nothing))
        return _has_error(part)


def merge(response: Any, refused: Any) -> Any:
    """``response`` with all parts of ``refused`` as well."""
    for name, values in lists_of(refused):
        into = getattr(response, name)
        for each in values:
            same = [
                one
                for one in into
                if is_topic(each) and identity_of(one) == identity_of(each)
            ]
            if same and list_name_of(each) is not None:
                parts_of(same[0]).extend(parts_of(each))
            else:
                into.append(each)
    return response


def _has_topics(request: Any) -> bool:
    return any(
        is_topic(each) or name in _NAMES or _has_topics(each)
        for name, values in lists_of(request)
        for each in values
        if isinstance(each, Struct) or name in _NAMES
    )


def _has_error(part: Any) -> bool:
    return any(hasattr(part, name) for name in _ERRORS)
