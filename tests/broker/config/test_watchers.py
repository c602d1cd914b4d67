import pytest

from odradek.broker.config.watchers import tell_all


def test_who_raises_keeps_no_other_from_hearing_it() -> None:
    heard: list[str] = []

    def fail(news: str) -> None:
        raise ValueError(news)

    def fail_too(news: str) -> None:
        raise TypeError(news)

    with pytest.raises(ValueError, match="news"):
        tell_all([heard.append, fail, fail_too, heard.append], "news")
    assert heard == ["news", "news"]
    tell_all([], "news")
