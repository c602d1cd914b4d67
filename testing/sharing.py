"""What on a shared broker would concern tests that know nothing of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .errors import SharedBroker

if TYPE_CHECKING:
    from collections.abc import Mapping

_ADVICE = (
    "other tests use this broker as well; the fixture odradek_own is a broker for "
    "one test alone (odradek.testing.Broker() without pytest)"
)
# Requests that ask and change nothing, of those whose family changes something.
_HARMLESS = frozenset(("clock.now",))
_FAMILIES = {
    "clock": "its clock cannot be moved",
    "process": "its process cannot be touched",
    "reset": "it cannot be reset",
}
_ACTIONS = {
    "start": "it runs already",
    "stop": "it cannot be stopped",
    "kill": "it cannot be killed",
    "close": "it cannot be closed",
}
_ALL = (None, "", "*")
# What in a rule's match is one test's own.
SCOPES = (
    "topic",
    "group",
    "transactional_id",
    "client_id",
    "connection",
)


def check_shared(request: str, fields: Mapping[str, Any] | None = None) -> None:
    """Refuse what others would notice, and say what to use in its place.

    Raises:
        SharedBroker: they would.
    """
    why = _concern(request, fields or {})
    if why is not None:
        raise SharedBroker(f"{why}: {_ADVICE}")


def _concern(request: str, fields: Mapping[str, Any]) -> str | None:
    if request in _HARMLESS:
        return None
    if request in _ACTIONS:
        return _ACTIONS[request]
    family = request.partition(".")[0]
    if request == "process.disconnect" and fields.get("client_id") not in _ALL:
        return None
    if request == "faults.arm" and not _is_scoped(fields):
        return f"a rule needs one of {', '.join(SCOPES)} in its match"
    if request == "faults.clear" and not any(fields.values()):
        return "rules are cleared by their ids"
    return _FAMILIES.get(family)


def _is_scoped(fields: Mapping[str, Any]) -> bool:
    match = fields.get("match") or {}
    return bool(fields.get("scope")) or any(
        match.get(name) not in _ALL for name in SCOPES
    )
