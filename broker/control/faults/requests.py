"""What is asked about rules: ``faults.arm`` and the requests around it.

``faults.arm`` (``match``, ``when``, and one action by its name, with what it needs)
answers with the rule; a rule that makes no sense is refused, and nothing is armed. With
``scope`` it is only for topics and ids whose names begin so, and refused where nothing
says whose a request is. ``faults.list``: an item for each rule, with how often it was
at work. ``faults.clear`` (``id``, else all): an item for each that was there.
``faults.release`` (``id``, ``count``): how many requests go on. ``faults.fired``
(``id``, ``count``, ``timeout_ms``): the rule, when it has been at work so often.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from odradek.broker.control.fields import Fields, refusal
from odradek.broker.operate.admin_socket import AdminError
from odradek.terminal.spelling import did_you_mean

from .cuts import Drop, Garble, Truncate
from .disk import Disk
from .errors import Error
from .match import Match
from .pacing import Bandwidth, Dribble
from .told import Leader, NoCoordinator, Throttle, Versions
from .waits import Delay, Hold
from .when import When

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.broker.metadata.topics import Topics
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request

    from .action import Action
    from .rules import Rules


_ACTIONS: dict[str, type[Action]] = {
    each.name: each
    for each in (
        Error,
        Drop,
        Delay,
        Hold,
        Truncate,
        Garble,
        Bandwidth,
        Dribble,
        Throttle,
        Versions,
        Leader,
        NoCoordinator,
        Disk,
    )
}
_BESIDE = ("match", "when", "scope")
_TIMEOUT_MS = 10_000
_TIMEOUT_MS_MAX = 3_600_000


def fault_requests(rules: Rules, metadata: Topics) -> dict[str, AdminRequest]:
    """What answers each."""

    async def arm(request: Request) -> Items:
        yield rules.arm(*parsed(request, metadata)).as_item()

    async def listed(request: Request) -> Items:
        Fields(request).end()
        for rule in rules:
            yield rule.as_item()

    async def clear(request: Request) -> Items:
        fields = Fields(request)
        rule_id = fields.number("id", None)
        fields.end()
        cleared = list(rules) if rule_id is None else [rules.known(rule_id)]
        rules.clear(cleared)
        for rule in cleared:
            yield rule.as_item()

    async def release(request: Request) -> Items:
        fields = Fields(request)
        rule = rules.known(fields.number("id"))
        count = fields.number("count", None, at_least=1)
        fields.end()
        yield {"released": rules.release(rule, count)}

    async def fired(request: Request) -> Items:
        fields = Fields(request)
        rule = rules.known(fields.number("id"))
        count = fields.number("count", 1, at_least=1)
        timeout_ms = fields.number(
            "timeout_ms", _TIMEOUT_MS, at_least=0, at_most=_TIMEOUT_MS_MAX
        )
        fields.end()
        try:
            # By the time of the test that waits, not by the clock that it moves.
            await asyncio.wait_for(rule.fired(count), timeout_ms / 1000)
        except TimeoutError:
            text = f"rule {rule.rule_id} was at work {rule.count} times, not {count}"
            raise AdminError("timeout", text) from None
        yield rule.as_item()

    return {
        "faults.arm": arm,
        "faults.list": listed,
        "faults.clear": clear,
        "faults.release": release,
        "faults.fired": fired,
    }


def parsed(request: Mapping[str, Any], metadata: Topics) -> tuple[Match, When, Action]:
    """The rule that a request is for.

    Raises:
        AdminError: it makes no sense.
    """
    fields = Fields(request)
    match = Match.of(fields.mapping("match", {}), metadata)
    when = When.of(fields.mapping("when", {}))
    scope = fields.text("scope", None)
    if scope is not None:
        match = match.within(scope)
    names = [name for name in request if name not in _BESIDE]
    for name in names:
        if name not in _ACTIONS:
            meant = did_you_mean(name, (*_ACTIONS, *_BESIDE))
            hint = f"did you mean {meant}?" if meant else f"it is {', '.join(_ACTIONS)}"
            raise refusal(f"there is no action {name!r}; {hint}")
    if len(names) != 1:
        raise refusal(f"a rule has one action of {', '.join(_ACTIONS)}")
    made = fields.mapping(names[0])
    return match, when, _ACTIONS[names[0]](Fields(made), match)
