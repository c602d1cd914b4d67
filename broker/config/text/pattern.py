"""Regular expressions of clients, matched in linear time.

Clients send what RE2 understands, and ``re`` would be no safe answer to it: one
pattern like ``(a+)+b`` would stop the whole broker. So a pattern becomes an automaton
without memory (Thompson's), of which all states are followed at once: a character
costs at most one step for each state, whatever the pattern. Which states follow which
is remembered, and mostly it costs one look into a dict.

Understood: literals, ``.``, ``[...]``, ``\\d \\w \\s`` and their opposites, escapes,
``\\Q...\\E``, groups (also named, or with the flags ``i s U``), ``|``,
``* + ? {m,n}`` (greedy or lazy is the same for who asks only whether it matches),
``^ $ \\A \\z \\b \\B``. Not understood, and so refused: ``\\p{...}``, ``[[:alpha:]]``,
``(?m)``, and, as in RE2, everything that looks back or ahead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.errors import InvalidRegularExpression

from .pattern_syntax import (
    Alternatives,
    Assertion,
    Characters,
    Node,
    Repeat,
    Sequence,
    Side,
    parse_pattern,
)

if TYPE_CHECKING:
    from collections.abc import Generator

STATES_MAX = 2_000
_KNOWN_MAX = 10_000
_MATCH = -1


class _State(NamedTuple):
    """Where to go on: with a character, at a place, or at once (None)."""

    condition: Characters | Assertion | None
    following: tuple[int, ...]


class _Place:
    """The states that can be reached so far, and what was read before.

    What follows is filled in as it is found.
    """

    __slots__ = ("before", "following", "is_end", "states")

    def __init__(self, states: frozenset[int], before: Side) -> None:
        self.states = states
        self.before = before
        self.following: dict[str, _Place] = {}
        self.is_end: bool | None = None  # not known yet


def compile_pattern(text: str) -> Pattern:
    """The pattern that ``text`` says.

    Raises:
        InvalidRegularExpression: it says none, or one that is too large.
    """
    builder = _Builder()
    start = builder.add(parse_pattern(text), _MATCH)
    return Pattern(builder.states, start)


class Pattern:
    """A regular expression."""

    def __init__(self, states: list[_State], start: int) -> None:
        self._states = states
        self._start_states = frozenset({start})
        self._forget()

    def _forget(self) -> None:
        """Begin to remember anew."""
        self._start = _Place(self._start_states, Side.NOTHING)
        self._places: dict[tuple[frozenset[int], Side], _Place] = {}
        self._known_count = 0

    def fullmatch(self, text: str) -> bool:
        """Whether it matches all of ``text``."""
        place = self._start
        for character in text:
            place = place.following.get(character) or self._step(place, character)
        return self._is_end(place)

    def walk(self, text: str) -> Generator[int, None, bool]:
        """The same in steps that are short, whatever the pattern is.

        Each yields how many states it has looked at; what is remembered is no step.
        """
        place = self._start
        for character in text:
            following = place.following.get(character)
            if following is None:
                following = self._step(place, character)
                yield len(place.states) + len(following.states)
            place = following
        return self._is_end(place)

    def _is_end(self, place: _Place) -> bool:
        if place.is_end is None:
            place.is_end = _MATCH in self._reached(place, Side.NOTHING)
        return place.is_end

    def _step(self, place: _Place, character: str) -> _Place:
        side = Side.of(character)
        states: set[int] = set()
        for each in self._reached(place, side):
            if each == _MATCH:
                continue
            condition, following = self._states[each]
            if isinstance(condition, Characters) and condition.has(character):
                states.update(following)
        if self._known_count == _KNOWN_MAX:
            self._forget()
        self._known_count += 1
        key = frozenset(states), side
        found = self._places.get(key)
        if found is None:
            found = self._places[key] = _Place(*key)
        place.following[character] = found
        return found

    def _reached(self, place: _Place, after: Side) -> set[int]:
        """These states, and all that they lead to without a character."""
        found: set[int] = set()
        waiting = list(place.states)
        while waiting:
            each = waiting.pop()
            if each in found:
                continue
            found.add(each)
            if each == _MATCH:
                continue
            condition, following = self._states[each]
            if condition is None or (
                isinstance(condition, Assertion)
                and condition.holds(place.before, after)
            ):
                waiting += following
        return found


class _Builder:
    """Makes states from the end to the beginning: each knows what follows it."""

    def __init__(self) -> None:
        self.states: list[_State] = []

    def add(self, node: Node, following: int) -> int:
        """The first state of ``node``, behind which ``following`` comes."""
        match node:
            case Characters() | Assertion():
                return self._state(node, following)
            case Sequence(parts):
                for part in reversed(parts):
                    following = self.add(part, following)
                return following
            case Alternatives(choices):
                firsts = [self.add(each, following) for each in choices]
                return self._state(None, *firsts)
            case Repeat():
                return self._repeat(node, following)

    def _repeat(self, repeat: Repeat, following: int) -> int:
        inner, least, most = repeat.inner, repeat.least, repeat.most
        end = following
        if most is None:
            loop = self._state(None)
            self.states[loop] = _State(None, (self.add(inner, loop), end))
            following = loop
        else:
            for _ in range(most - least):
                following = self._state(None, self.add(inner, following), end)
        for _ in range(least):
            first = self.add(inner, following)
            if first == following:  # nothing, and any number of it
                break
            following = first
        return following

    def _state(self, condition: Characters | Assertion | None, *following: int) -> int:
        if len(self.states) == STATES_MAX:
            raise InvalidRegularExpression("The regular expression is too large.")
        self.states.append(_State(condition, following))
        return len(self.states) - 1
