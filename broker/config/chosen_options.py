"""What a topic sets of its options, and what the texts of these mean.

A start reads the texts of all topics; what they mean is asked with the first log.
"""

from collections.abc import Callable, Mapping
from typing import Any


class ChosenOptions(dict[str, str]):
    """The options that a topic sets, by name, as texts. Never changed once made.

    A text is parsed once, when its value is first asked for.
    """

    __slots__ = ("_parsed",)

    def __init__(self, texts: Mapping[str, str] | None = None) -> None:
        super().__init__(texts or {})
        self._parsed: dict[str, Any] | None = None

    @classmethod
    def of(cls, texts: Mapping[str, str]) -> "ChosenOptions":
        """The same options; those that are chosen ones already, as they are."""
        return texts if isinstance(texts, ChosenOptions) else cls(texts)

    def changed_to(self, texts: Mapping[str, str]) -> "ChosenOptions":
        """Others in their place, where only what differs is parsed.

        Raises:
            InvalidConfig: one does not exist, or has a value that it cannot have.
        """
        parse = _parser()
        made, had = ChosenOptions(texts), self._parsed or {}
        made._parsed = {
            name: had[name] if name in had and self[name] == text else parse(name, text)
            for name, text in texts.items()
        }
        return made

    @property
    def parsed(self) -> Mapping[str, Any]:
        """Their values, by name.

        Raises:
            InvalidConfig: one does not exist, or has a value that it cannot have.
        """
        if self._parsed is None:
            parse = _parser()
            self._parsed = {name: parse(name, text) for name, text in self.items()}
        return self._parsed


def _parser() -> Callable[[str, str], Any]:
    from .topic_config import parse_topic_option

    return parse_topic_option
