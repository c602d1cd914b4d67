"""Login modules as Java writes them in ``sasl.jaas.config``.

    org.apache.kafka.common.security.plain.PlainLoginModule required
      username="alice" password="open sesame";

Values are quoted as in Java; errors never show one, for it may be a secret.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

FLAGS = ("required", "requisite", "sufficient", "optional")
_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|//[^\n]*|/\*.*?\*/)
    | "(?P<double>(?:[^"\\\n]|\\.)*)"
    | '(?P<single>(?:[^'\\\n]|\\.)*)'
    | (?P<mark>[=;])
    | (?P<word>[^\s=;"']+)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\([0-3][0-7]{2}|[0-7]{1,2}|.)", re.DOTALL)
_CONTROL = dict(zip("abfnrtv", "\a\b\f\n\r\t\v", strict=True))
_MARK = "mark"
_END = ""


class JaasError(ValueError):
    """The text is no list of login modules; says where, and no value."""


class LoginModule(NamedTuple):
    """One of them: the class in Java, and its options."""

    name: str
    options: Mapping[str, str]

    @property
    def simple_name(self) -> str:
        """The name of the class, without its package."""
        return self.name.rpartition(".")[2]


class _Token(NamedTuple):
    kind: str
    text: str


def parse_jaas(text: str) -> list[LoginModule]:
    """The modules, in their order.

    Raises:
        JaasError: there is none, or one of them is not written as Java has it.
    """
    tokens = _tokens(text)
    modules = []
    for token in tokens:
        if token.kind == _MARK:
            raise JaasError(f"a {token.text} where the name of a module begins")
        modules.append(_module(token.text, tokens))
    if not modules:
        raise JaasError("it names no login module")
    return modules


def _module(name: str, tokens: Iterator[_Token]) -> LoginModule:
    flag = next(tokens, _Token(_MARK, _END))
    if flag.kind == _MARK or flag.text.lower() not in FLAGS:
        raise JaasError(f"behind {name} stands one of {', '.join(FLAGS)}")
    options: dict[str, str] = {}
    for token in tokens:
        if token == (_MARK, ";"):
            return LoginModule(name, options)
        if token.kind != "word":
            raise JaasError(f"{name}: an option begins with its name")
        equals = next(tokens, _Token(_MARK, _END))
        value = next(tokens, _Token(_MARK, _END))
        if equals != (_MARK, "=") or value.kind == _MARK:
            raise JaasError(f'{name}: write {token.text}="..."')
        options[token.text] = value.text
    raise JaasError(f"{name}: there is no ; at its end")


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    while position < len(text):
        found = _TOKEN.match(text, position)
        if found is None:
            raise JaasError("a quote is opened and not closed")
        position = found.end()
        kind = found.lastgroup or ""
        if kind in ("double", "single"):
            yield _Token("quoted", _ESCAPE.sub(_unescaped, found[kind]))
        elif kind != "blank":
            yield _Token(kind, found[kind])


def _unescaped(found: re.Match[str]) -> str:
    escaped = found[1]
    if escaped[0] in "01234567":
        return chr(int(escaped, 8))
    return _CONTROL.get(escaped, escaped)
