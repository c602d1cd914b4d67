import pytest

from odradek.pipeline.errors import BadOption
from odradek.pipeline.source.option_names import (
    KAFKA_IGNORED,
    KAFKA_REFUSED,
    KAFKA_USED,
    SOURCE,
    check_name,
)


@pytest.mark.parametrize(
    "name", [*SOURCE, *(f"kafka.{each}" for each in (*KAFKA_USED, *KAFKA_IGNORED))]
)
def test_known_in_any_case(name: str) -> None:
    for spelled in (name, name.lower(), name.upper()):
        check_name(spelled)


@pytest.mark.parametrize("name", KAFKA_REFUSED)
def test_refused_with_what_to_use_instead(name: str) -> None:
    with pytest.raises(BadOption, match="cannot be set"):
        check_name(f"kafka.{name}")


def test_unknown_with_what_is_most_like_it() -> None:
    with pytest.raises(BadOption, match="Did you mean failOnDataLoss"):
        check_name("failondatalos")
    with pytest.raises(BadOption, match=r"Did you mean kafka\.bootstrap"):
        check_name("bootstrap.servers")
    with pytest.raises(BadOption, match=r"none of this name\.$"):
        check_name("zzz")
