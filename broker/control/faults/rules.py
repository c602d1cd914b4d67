"""The rules that are armed, and the layer that asks them about requests.

Invariants: the layer is there exactly while some rule may hit something. A request is
asked about only if it is of an API that such a rule is for; all others go on their
short ways. Rules are asked in the order in which they were armed, each for what the
ones before it let through.
"""

from __future__ import annotations

import asyncio
from functools import partial
from typing import TYPE_CHECKING, Any

from odradek.broker.control.fields import refusal
from odradek.broker.control.subject import Subject
from odradek.protocol.errors import KafkaError, MalformedRequest

from .call import Call
from .disk import Disk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.network.entry import Layers
    from odradek.broker.requests.context import ConnectionInfo
    from odradek.broker.requests.dispatch import Dispatcher, Entry, Exchange
    from odradek.broker.requests.services import Services

    from .action import Action
    from .disk import FaultyFiles
    from .match import Match
    from .when import When

RULES_MAX = 1000


class Rule:
    """What is done to which requests; ``count`` is how often it was."""

    def __init__(self, rule_id: int, match: Match, when: When, action: Action) -> None:
        self.rule_id = rule_id
        self.match = match
        self.when = when
        self.action = action
        self.count = 0
        self.wanted = action.match_of(match)
        self._news: set[asyncio.Future[None]] = set()

    def hits(self, call: Call) -> bool:
        """Whether it is at work on this request."""
        if not self.wanted.admits(call.header, call.connection, call.subject):
            return False
        return self.note() if self.when.hits() else False

    def note(self) -> bool:
        """It was at work."""
        self.count += 1
        for each in self._news:
            if not each.done():
                each.set_result(None)
        self._news.clear()
        return True

    async def fired(self, count: int) -> None:
        """Return when it has been at work so often."""
        while self.count < count:
            news: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._news.add(news)
            try:
                await news
            finally:
                self._news.discard(news)

    def as_item(self) -> dict[str, Any]:
        """For an answer in JSON."""
        return {
            "id": self.rule_id,
            "match": self.match.shown(),
            self.action.name: self.action.shown(),
            "seed": self.when.seed,
            "count": self.count,
            "left": self.when.left,
            "held": self.action.held,
        }


class Rules:
    """All rules of a broker."""

    def __init__(
        self,
        services: Services,
        dispatcher: Dispatcher,
        layers: Layers,
        files: FaultyFiles | None = None,
    ) -> None:
        self._services = services
        self._dispatcher = dispatcher
        self._layers = layers
        self._files = files
        if files is not None:
            loop = asyncio.get_running_loop()
            files.committer = services.committer
            files.tell = lambda rule: loop.call_soon_threadsafe(self._note, rule)
        self._layer = self._dispatch  # bound once: it is looked for again
        self._rules: dict[int, Rule] = {}
        self._by_api: dict[int, list[Rule]] = {}
        self._last_id = 0
        # The rules at work on the request that was asked about last; grows later, too.
        self.worked: Sequence[int] = ()

    def __iter__(self) -> Any:
        return iter(list(self._rules.values()))

    def arm(self, match: Match, when: When, action: Action) -> Rule:
        """A new rule, at work from now on.

        Raises:
            AdminError: there are too many.
        """
        if len(self._rules) >= RULES_MAX:
            raise refusal(f"there are {RULES_MAX} rules: clear some")
        self._last_id += 1
        rule = Rule(self._last_id, match, when, action)
        self._rules[rule.rule_id] = rule
        self._follow()
        return rule

    def known(self, rule_id: int) -> Rule:
        """The rule with this id.

        Raises:
            AdminError: there is none.
        """
        rule = self._rules.get(rule_id)
        if rule is None:
            ids = ", ".join(map(str, self._rules)) or "none"
            raise refusal(f"there is no rule {rule_id}; armed: {ids}")
        return rule

    def clear(self, rules: Sequence[Rule]) -> None:
        """Take these away; what they hold goes on."""
        for rule in rules:
            self._rules.pop(rule.rule_id, None)
        self._follow()
        for rule in rules:
            rule.when.use_up()
            rule.action.release()

    def release(self, rule: Rule, count: int | None) -> int:
        """Let go what a rule holds; without ``count`` it holds nothing more, either."""
        if count is None:
            rule.when.use_up()
            self._follow()
        return rule.action.release(count)

    def _follow(self) -> None:
        """Be in the way of those requests that a rule may hit, and of no others."""
        was_there = bool(self._by_api)
        by_api: dict[int, list[Rule]] = {}
        for rule in self._rules.values():
            if not rule.when.is_used_up:
                for key in rule.action.api_keys(rule.match):
                    by_api.setdefault(key, []).append(rule)
        self._by_api = by_api
        if self._files is not None:
            self._files.follow(
                [
                    rule
                    for rule in self._rules.values()
                    if isinstance(rule.action, Disk) and not rule.when.is_used_up
                ]
            )
        if by_api and not was_there:
            self._layers.put(self._layer, innermost=True)
        elif was_there and not by_api:
            self._layers.take_away(self._layer)

    def _note(self, rule: Rule) -> None:
        """A rule was at work on a file, in whatever thread."""
        rule.note()
        if rule.when.is_used_up:
            self._follow()

    def _dispatch(
        self, inner: Entry, connection: ConnectionInfo, frame: memoryview
    ) -> Exchange | bytes:
        """As `Dispatcher.dispatch`, unless a rule hits the request."""
        rules = self._by_api.get(int.from_bytes(frame[:2], "big"))
        if rules is None:
            return inner(connection, frame)
        try:
            route, header, request = self._dispatcher.read(frame)
        except (MalformedRequest, KafkaError):
            request = None
        if request is None:  # whoever answers it will say so
            return inner(connection, frame)
        subject = Subject.of(request, self._services)
        worked: list[int] = []
        self.worked = worked
        call = Call(
            connection,
            frame,
            route,
            header,
            request,
            subject,
            worked,
            self._services,
            self._dispatcher,
        )
        try:
            return self._go_on(rules, partial(inner, connection), call, frame)
        except MalformedRequest:
            raise
        except Exception as error:
            self._services.bugs.record("a rule", error)
            raise MalformedRequest(f"a rule broke: {error!r}") from error

    def _go_on(
        self, rules: Sequence[Rule], proceed: Any, call: Call, frame: memoryview
    ) -> Exchange | bytes:
        """What becomes of ``frame`` by these rules, one within the other."""
        for number, rule in enumerate(rules):
            if rule.hits(call):
                call.worked.append(rule.rule_id)
                if rule.when.is_used_up:
                    self._follow()
                behind = partial(
                    self._go_on,
                    rules[number + 1 :],
                    proceed,
                    call._replace(frame=frame),
                )
                return rule.action.act(call._replace(frame=frame), behind)
        answer: Exchange | bytes = proceed(frame)
        return answer
