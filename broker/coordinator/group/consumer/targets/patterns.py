"""Subscriptions by pattern: which topics a regular expression matches.

That is found out beside the heartbeats, some names in a turn of the loop, since there
may be many topics, and patterns that are slow to match. What comes of it is a decision
of its own: a member's first answer knows of no topic that its pattern matches.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING

from odradek.broker.config.text.pattern import compile_pattern
from odradek.broker.coordinator.decision import Decision
from odradek.broker.coordinator.group.consumer.draft import Draft
from odradek.broker.coordinator.group.state.consumer import records
from odradek.broker.coordinator.group.state.consumer.group import ResolvedPattern
from odradek.protocol.errors import InvalidRegularExpression

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from odradek.broker.config.text.pattern import Pattern
    from odradek.broker.coordinator.group.state.consumer.group import ConsumerGroup
    from odradek.broker.coordinator.group.state.shard import GroupShard

    MayDescribe = Callable[[str], bool]

# However often members ask, and whatever they ask for.
LEAST_INTERVAL_MS = 10_000
# What is looked at in one turn, in states of patterns: mostly a millisecond. A name
# whose way through its pattern is known counts as some.
STATES_AT_ONCE = 4_000
_STATES_OF_NAME = 20
PAUSE_MS = 2
# What is looked at for the patterns of one group: seconds, in the pauses of others.
STATES_MAX = 2_000_000

_logger = logging.getLogger(__name__)


def check_pattern(text: str) -> Pattern:
    """The pattern, compiled.

    Raises:
        InvalidRegularExpression: it is none, or one that cannot be matched here.
    """
    try:
        return compile_pattern(text)
    except InvalidRegularExpression as error:
        raise InvalidRegularExpression(
            f"SubscribedTopicRegex `{text}` is not a valid regular expression: {error}"
        ) from None


def forget_unused(draft: Draft) -> None:
    """Drop what patterns have matched by which nobody will subscribe."""
    group = draft.group
    if not group.patterns:
        return
    used = {info.pattern for _, info in draft.infos()}
    for pattern in group.patterns:
        if pattern not in used:
            draft.put(records.PATTERN_KEY, pattern)


def wants_resolving(shard: GroupShard, group: ConsumerGroup, pattern: str) -> bool:
    """Whether it is to be found out (again) what the group's patterns match.

    ``pattern`` is that of a member, which may be new to the group.
    """
    used = group.used_patterns()
    if not (used or pattern) or group.is_resolving:
        return False
    now_ms, last_ms = shard.clock.now_ms(), group.patterns_time_ms
    if last_ms < 0:
        return True
    age_ms = abs(now_ms - last_ms)
    return age_ms > LEAST_INTERVAL_MS and (
        any(each not in group.patterns for each in filter(None, (*used, pattern)))
        or group.patterns_version != shard.topics.index_version
        or age_ms > shard.config.group_consumer_regex_refresh_interval_ms
    )


def begin_resolving(
    shard: GroupShard, group_id: str, may_describe: MayDescribe | None
) -> None:
    """Find out what the patterns match, of the topics that the client may see."""
    _later(shard, group_id, partial(_begin, shard, group_id, may_describe))


class Resolving:
    """What was found so far, for the patterns of one group."""

    def __init__(
        self, shard: GroupShard, group: ConsumerGroup, may_describe: MayDescribe | None
    ) -> None:
        self.group = group
        self.version = shard.topics.index_version
        self.patterns = {each: check_pattern(each) for each in group.used_patterns()}
        self.found: dict[str, set[str]] = {each: set() for each in self.patterns}
        self.state_count = 0
        self._walk = self._match([each.name for each in shard.topics])
        self._may_describe = may_describe

    @property
    def is_too_much(self) -> bool:
        """Whether the patterns are such that it is not worth to go on."""
        return self.state_count > STATES_MAX

    def match_some(self) -> bool:
        """Match as much as a turn may take. Returns whether that was all."""
        count = 0
        for state_count in self._walk:
            count += state_count
            if count >= STATES_AT_ONCE:
                break
        else:
            return True
        self.state_count += count
        return self.is_too_much

    def _match(self, names: list[str]) -> Iterator[int]:
        """Yields how many states were looked at, again and again."""
        for name in names:
            for text, pattern in self.patterns.items():
                matches = yield from pattern.walk(name)
                yield _STATES_OF_NAME
                if matches and self._is_seen(name):
                    self.found[text].add(name)

    def _is_seen(self, name: str) -> bool:
        return self._may_describe is None or self._may_describe(name)


def _begin(
    shard: GroupShard, group_id: str, may_describe: MayDescribe | None
) -> Decision | None:
    group = shard.consumer_groups.get(group_id)
    if group is None or group.is_resolving:
        return None
    group.is_resolving = True
    try:
        resolving = Resolving(shard, group, may_describe)
    except InvalidRegularExpression as error:
        # Of another broker, whose patterns know more than ours.
        group.is_resolving = False
        group.patterns_time_ms = shard.clock.now_ms()
        _logger.warning("group %s: %s", group_id, error)
        return None
    return _go_on(shard, resolving)


def _go_on(shard: GroupShard, resolving: Resolving) -> Decision | None:
    group = resolving.group
    try:
        is_done = resolving.match_some()
        if not is_done:
            step = partial(_go_on, shard, resolving)
            _later(shard, group.group_id, step, PAUSE_MS)
            return None
    except BaseException:
        group.is_resolving = False
        raise
    group.is_resolving = False
    group.patterns_time_ms = shard.clock.now_ms()
    group.patterns_version = resolving.version
    if group.is_gone:
        return None
    if resolving.is_too_much:
        _logger.warning(
            "group %s: its patterns are not matched against all topics, it would take "
            "too long: %s",
            group.group_id,
            ", ".join(resolving.patterns),
        )
    return _resolved(shard, group, resolving)


def _resolved(
    shard: GroupShard, group: ConsumerGroup, resolving: Resolving
) -> Decision | None:
    """Note what has changed, and have the group assigned anew if anything has."""
    draft, used = Draft(shard, group), set(group.used_patterns())
    has_changed = False
    for text, names in resolving.found.items():
        known = group.patterns.get(text)
        if text not in used or (known is not None and known.topics == names):
            continue
        has_changed = has_changed or group.matched(text) != names
        value = ResolvedPattern(
            frozenset(names), resolving.version, group.patterns_time_ms
        )
        draft.put(records.PATTERN_KEY, text, value)
        draft.patterns[text] = value.topics
    if not draft.records:
        return None
    if has_changed:
        draft.bump()
    return Decision(records=draft.records)


def _later(
    shard: GroupShard,
    group_id: str,
    step: Callable[[], Decision | None],
    delay_ms: int = 0,
) -> None:
    """In another turn, unless the shard is unloaded until then."""
    shard.timers.start(("patterns", group_id), delay_ms, step)
