"""Topic options that note which texts they have parsed."""

from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest

from odradek.broker.config.options.option import Option
from odradek.broker.config.topic_config import TOPIC_OPTIONS


@dataclass(frozen=True)
class _CountedOption(Option):
    """Parses as the real one does."""

    texts: list[str] = field(default_factory=list)

    def parse(self, text: str) -> Any:
        self.texts.append(text)
        return super().parse(text)


def counted_options(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that options of topics parse from now on."""
    texts: list[str] = []
    for name, entry in list(TOPIC_OPTIONS.items()):
        real = {each.name: getattr(entry.known, each.name) for each in fields(Option)}
        counted = replace(entry, known=_CountedOption(**real, texts=texts))
        monkeypatch.setitem(TOPIC_OPTIONS, name, counted)
    return texts
