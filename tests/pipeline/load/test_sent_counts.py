from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import PySparkException

from odradek.pipeline.load.sent_counts import SparkFailure, sent_counts
from odradek.protocol.errors import TopicAuthorizationFailed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

LOST = "most recent failure: Lost task 0.3 in stage 3.0 (TID 9) (b executor 1): "


def test_a_refusal_is_known_by_its_name() -> None:
    text = "odradek.protocol.security_errors.TopicAuthorizationFailed: t-0: Not you."
    refusal = SparkFailure(text).refusal
    assert isinstance(refusal, TopicAuthorizationFailed)
    assert str(refusal) == "t-0: Not you."
    assert SparkFailure("ZeroDivisionError: division by zero").refusal is None
    assert SparkFailure("two tasks wrote one partition").refusal is None


class Failing:
    """Rows whose tasks fail."""

    def __init__(self, text: str) -> None:
        self._text = text

    def mapInArrow(self, *_: Any) -> "Failing":
        return self

    def collect(self) -> None:
        raise PySparkException(self._text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x\nKafkaError: no", "KafkaError: no"),
        (f"{LOST}\nKafkaError: no", "KafkaError: no; so said a task on b (executor 1)"),
        (
            f"{LOST}\nModuleNotFoundError: No module named 'odradek'",
            "The Python of b (executor 1) does not have odradek: install odradek",
        ),
    ],
)
def test_a_failure_says_where_it_was(text: str, said: str) -> None:
    rows = cast("DataFrame", Failing(text))
    with pytest.raises(SparkFailure) as failed:
        sent_counts(rows, cast("Any", None))
    assert str(failed.value).startswith(said)
