"""The syntax of a regular expression: from its text to its parts; see `pattern`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from odradek.protocol.errors import InvalidRegularExpression

REPEAT_MAX = 1000  # RE2's
LENGTH_MAX = 4096
DEPTH_MAX = 100
_LAST = chr(0x10FFFF)
_DIGITS = (("0", "9"),)
_WORDS = (("0", "9"), ("A", "Z"), ("_", "_"), ("a", "z"))
_SPACES = (("\t", "\n"), ("\f", "\r"), (" ", " "))
_CLASSES = {"d": _DIGITS, "w": _WORDS, "s": _SPACES}
_CONTROLS = {"a": "\a", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}


@dataclass(frozen=True, slots=True)
class Characters:
    """One character of some ranges, or of none of them."""

    ranges: tuple[tuple[str, str], ...]
    is_negated: bool = False
    ignores_case: bool = False

    def has(self, character: str) -> bool:
        """Whether the character is one of them."""
        found = self._is_in_ranges(character)
        if not found and self.ignores_case:
            swapped = character.swapcase()
            found = len(swapped) == 1 and self._is_in_ranges(swapped)
        return found != self.is_negated

    def _is_in_ranges(self, character: str) -> bool:
        return any(first <= character <= last for first, last in self.ranges)


class Side(Enum):
    """What stands on one side of a place between characters."""

    NOTHING = "nothing"
    WORD = "word"
    OTHER = "other"

    @classmethod
    def of(cls, character: str) -> Side:
        """The side on which ``character`` stands."""
        return cls.WORD if _WORD.has(character) else cls.OTHER


class Assertion(Enum):
    """What is to be true of a place between characters."""

    BEGIN = "begin"
    END = "end"
    BOUNDARY = "boundary"
    NO_BOUNDARY = "no boundary"

    def holds(self, before: Side, after: Side) -> bool:
        """Whether it is true between these."""
        if self is Assertion.BEGIN:
            return before is Side.NOTHING
        if self is Assertion.END:
            return after is Side.NOTHING
        is_boundary = (before is Side.WORD) != (after is Side.WORD)
        return is_boundary == (self is Assertion.BOUNDARY)


_WORD = Characters(_WORDS)
_ASSERTIONS = {
    "A": Assertion.BEGIN,
    "z": Assertion.END,
    "b": Assertion.BOUNDARY,
    "B": Assertion.NO_BOUNDARY,
}


@dataclass(frozen=True, slots=True)
class Sequence:
    """One after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Alternatives:
    """One of these."""

    choices: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """The same several times; None: as often as one likes."""

    inner: Node
    least: int
    most: int | None


Node: TypeAlias = Characters | Assertion | Sequence | Alternatives | Repeat


def parse_pattern(text: str) -> Node:
    """The parts of a regular expression.

    Raises:
        InvalidRegularExpression: there is something in it that is not understood.
    """
    if len(text) > LENGTH_MAX:
        raise InvalidRegularExpression("The regular expression is too long.")
    parser = _Parser(text)
    node = parser.alternatives(depth=0)
    if parser.position < len(text):
        raise parser.error("a ) without its (")
    return node


class _Parser:
    """Reads from the left to the right; ``position`` is that of the next character."""

    def __init__(self, text: str) -> None:
        self.position = 0
        self._text = text
        self._ignores_case = False
        self._dot_is_all = False

    def error(self, what: str) -> InvalidRegularExpression:
        return InvalidRegularExpression(
            f"The regular expression has {what} (before character {self.position + 1})."
        )

    def alternatives(self, depth: int) -> Node:
        if depth > DEPTH_MAX:
            raise self.error("too many groups in groups")
        flags = self._ignores_case, self._dot_is_all
        choices = [self._sequence(depth)]
        while self._take("|"):
            choices.append(self._sequence(depth))
        self._ignores_case, self._dot_is_all = flags  # they end with the group
        return choices[0] if len(choices) == 1 else Alternatives(tuple(choices))

    def _sequence(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.position < len(self._text) and self._text[self.position] not in "|)":
            if self._take("\\Q"):
                *before, last = self._quoted() or [Sequence(())]
                parts += [*before, self._repeated(last)]
            else:
                parts.append(self._repeated(self._atom(depth)))
        return Sequence(tuple(parts))

    def _quoted(self) -> list[Node]:
        quoted, end, _ = self._text[self.position :].partition("\\E")
        self.position += len(quoted) + len(end)
        return [self._literal(character) for character in quoted]

    def _repeated(self, inner: Node) -> Node:
        bounds = self._bounds()
        if bounds is None:
            return inner
        self._take("?")  # lazy
        if self._bounds() is not None:
            raise self.error("a repetition of a repetition")
        return Repeat(inner, *bounds)

    def _bounds(self) -> tuple[int, int | None] | None:
        if self._take("*"):
            return 0, None
        if self._take("+"):
            return 1, None
        if self._take("?"):
            return 0, 1
        if not self._is_next("{"):
            return None
        inside, brace, _ = self._text[self.position + 1 :].partition("}")
        least, comma, most = inside.partition(",")
        if not (brace and _is_number(least) and (not most or _is_number(most))):
            return None  # a literal {
        self.position += len(inside) + 2
        low = int(least)
        high = int(most) if most else None if comma else low
        if max(low, high or 0) > REPEAT_MAX or (high is not None and high < low):
            raise self.error("an impossible number of repetitions")
        return low, high

    def _atom(self, depth: int) -> Node:
        character = self._next()
        if character == "(":
            return self._group(depth)
        if character == "[":
            return self._bracket()
        if character == ".":
            newline = () if self._dot_is_all else (("\n", "\n"),)
            return Characters(newline, is_negated=True)
        if character in "^$":
            return Assertion.BEGIN if character == "^" else Assertion.END
        if character in "*+?{":
            self.position -= 1
            if self._bounds() is not None:
                raise self.error("nothing to repeat")
            self.position += 1
        if character == "\\":
            if self._is_next(*_ASSERTIONS):
                return _ASSERTIONS[self._next()]
            ranges = self._escape()
            return Characters(ranges, ignores_case=self._ignores_case)
        return self._literal(character)

    def _literal(self, character: str) -> Characters:
        return Characters(((character, character),), ignores_case=self._ignores_case)

    def _group(self, depth: int) -> Node:
        flags = self._ignores_case, self._dot_is_all
        if self._take("?") and self._take_flags():
            # (?i) is for all that follows in the group around it.
            if self._bounds() is not None:
                raise self.error("nothing to repeat")
            return Sequence(())
        inner = self.alternatives(depth + 1)
        if not self._take(")"):
            raise self.error("a ( without its )")
        self._ignores_case, self._dot_is_all = flags
        return inner

    def _take_flags(self) -> bool:
        """Read what stands behind ``(?``; whether that is the whole group."""
        if self._take("P<") or self._take("<"):
            name, end, _ = self._text[self.position :].partition(">")
            if not (end and name.isascii() and name.replace("_", "a").isalnum()):
                raise self.error("a group with no good name")
            self.position += len(name) + 1
            return False
        is_on = True
        while (character := self._next()) not in ":)":
            if character == "i":
                self._ignores_case = is_on
            elif character == "s":
                self._dot_is_all = is_on
            elif character == "U":
                pass  # what is greedy matters only to who asks what was matched
            elif character == "-" and is_on:
                is_on = False
            else:
                raise self.error("a group of an unknown kind")
        return character == ")"

    def _bracket(self) -> Characters:
        is_negated = self._take("^")
        ranges: list[tuple[str, str]] = []
        while not ranges or not self._is_next("]"):
            if self._is_next("[:"):
                raise self.error("a named class")
            first = self._member()
            is_range = self._is_next("-") and not self._is_next("-]")
            if not is_range or not _is_one(first):
                ranges += first
                continue
            self._next()
            last = self._member()
            low, high = first[0][0], last[0][0]
            if not _is_one(last) or high < low:
                raise self.error("an impossible range")
            ranges.append((low, high))
        self._next()
        return Characters(tuple(ranges), is_negated, self._ignores_case)

    def _member(self) -> tuple[tuple[str, str], ...]:
        character = self._next()
        return self._escape() if character == "\\" else ((character, character),)

    def _escape(self) -> tuple[tuple[str, str], ...]:
        character = self._next()
        if character.lower() in _CLASSES:
            ranges = _CLASSES[character.lower()]
            return ranges if character.islower() else _others(ranges)
        if character == "x":
            character = self._hexadecimal()
        elif character in _CONTROLS:
            character = _CONTROLS[character]
        elif character.isascii() and character.isalnum():
            raise self.error(f"an unknown escape \\{character}")
        return ((character, character),)

    def _hexadecimal(self) -> str:
        if self._take("{"):
            digits, end, _ = self._text[self.position :].partition("}")
            size = len(digits) + 1 if end else 0
        else:
            digits = self._text[self.position : self.position + 2]
            size = 2
        self.position += size
        try:
            return chr(int(digits, 16)) if len(digits) >= 2 and size else chr(-1)
        except (ValueError, OverflowError):
            raise self.error("a character with no good number") from None

    def _is_next(self, *words: str) -> bool:
        return self._text.startswith(words, self.position)

    def _take(self, word: str) -> bool:
        if not self._is_next(word):
            return False
        self.position += len(word)
        return True

    def _next(self) -> str:
        if self.position == len(self._text):
            raise self.error("an end where something is missing")
        self.position += 1
        return self._text[self.position - 1]


def _is_one(ranges: tuple[tuple[str, str], ...]) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 9


def _others(
    ranges: tuple[tuple[str, str], ...],
) -> tuple[tuple[str, str], ...]:
    """All characters but those, which are in order."""
    found = []
    begin = 0
    for first, last in ranges:
        if ord(first) > begin:
            found.append((chr(begin), chr(ord(first) - 1)))
        begin = ord(last) + 1
    found.append((chr(begin), _LAST))
    return tuple(found)
