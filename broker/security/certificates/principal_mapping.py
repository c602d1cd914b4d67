"""Which principal a distinguished name stands for (KIP-371).

    DEFAULT                                      the name as it is
    RULE:^CN=([^,]+),.*$/$1/L                    what the pattern finds, in lower case
    RULE:^CN=(.*?),OU=IT.*$/$1@it/,DEFAULT       the first that fits counts

A pattern has to fit the whole name. A reference to a group that it does not have is
taken literally. Patterns are those of Python, which differ from Java's in what hardly
anybody writes; one that Python does not know is refused at the start.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

_RULE = r"(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?)"
_SPLIT = rf"\s*({_RULE})\s*(?:,\s*|$)"
_REPLACED = r"(?s)\\(.)|\$(\d+)|\$\{(\w+)\}|(\$)"
# The dot of Python takes them, that of Java does not.
_LINE_ENDS = frozenset("\r\x85\u2028\u2029")
_NAMED_GROUP = r"\(\?<(?![=!])"  # as Java writes it


class Rule(NamedTuple):
    """One rule; without a pattern it is DEFAULT."""

    pattern: re.Pattern[str] | None = None
    replacement: str = ""
    case: str = ""  # L, U, or neither

    def principal_of(self, name: str) -> str | None:
        """What the rule makes of ``name``; None: it does not fit."""
        if self.pattern is None:
            return name
        if self.pattern.fullmatch(name) is None or _LINE_ENDS & set(name):
            return None
        found = self.pattern.sub(self._expanded, name)
        if self.case == "L":
            return found.lower()
        return found.upper() if self.case == "U" else found

    def _expanded(self, match: re.Match[str]) -> str:
        def expand(part: re.Match[str]) -> str:
            escaped, digits, group, _ = part.groups()
            if escaped is not None:
                return str(escaped)
            if group is not None:
                return match[group] or ""
            return _of_group(match, digits)

        return re.sub(_REPLACED, expand, self.replacement)


def _of_group(match: re.Match[str], digits: str) -> str:
    """What ``$digits`` means: of the digits as many as are a group that there is."""
    count = match.re.groups
    if int(digits[0]) > count:
        return "$" + digits
    size = 1
    while size < len(digits) and int(digits[: size + 1]) <= count:
        size += 1
    return (match[int(digits[:size])] or "") + digits[size:]


class PrincipalMapping(NamedTuple):
    """The rules of one listener, and their text."""

    rules: tuple[Rule, ...]
    text: str

    @classmethod
    def parse(cls, text: str) -> PrincipalMapping:
        """The rules that ``text`` says; with none of them nobody is let in.

        Raises:
            ValueError: one of them is none.
        """
        if text == DEFAULT.text:
            return DEFAULT  # as most have it, and the patterns take a millisecond
        rules = []
        for part in _split(text):
            found = re.match(_RULE, part)
            if found is None or found.end() != len(part):
                raise ValueError(
                    f"{part!r} is not like RULE:pattern/replacement/ or DEFAULT"
                )
            if found[1] is not None:
                rules.append(Rule())
            elif found[2] is not None:
                rules.append(_rule(found[2], found[3], found[4]))
        return cls(tuple(rules), text)

    def principal_of(self, name: str) -> str | None:
        """Who has a certificate with this name. None: no rule fits."""
        for rule in self.rules:
            principal = rule.principal_of(name)
            if principal is not None:
                return principal
        return None


DEFAULT: Final = PrincipalMapping((Rule(),), "DEFAULT")


def _split(text: str) -> list[str]:
    return [found[1] for found in re.finditer(_SPLIT, text.strip()) if found[1]]


def _rule(pattern: str, replacement: str, case: str) -> Rule:
    try:
        compiled = re.compile(re.sub(_NAMED_GROUP, "(?P<", pattern), re.ASCII)
    except re.error as error:
        raise ValueError(f"{pattern!r} is no pattern: {error}") from None
    for found in re.finditer(_REPLACED, replacement):
        if found[4]:
            raise ValueError(f"a $ in {replacement!r} has to be written \\$")
        if found[3] and found[3] not in compiled.groupindex:
            raise ValueError(f"{pattern!r} has no group {found[3]!r}")
    return Rule(compiled, replacement, case)
