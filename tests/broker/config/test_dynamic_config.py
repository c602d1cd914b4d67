import pytest

from odradek.broker.config.dynamic_config import (
    Alteration,
    Operation,
    altered,
    check_alterations,
    replacing,
)
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.topic_config import find_topic_option, topic_default
from odradek.protocol.errors import InvalidConfig, InvalidRequest, KafkaError

BROKER = BrokerConfig()


def after(options: dict[str, str], *alterations: Alteration) -> dict[str, str]:
    check_alterations(alterations, find_topic_option)
    return altered(options, alterations, lambda name: topic_default(name, BROKER))


def test_options_are_set_and_deleted() -> None:
    assert after(
        {"retention.ms": "1", "segment.ms": "2"},
        Alteration("retention.ms", Operation.SET, "3"),
        Alteration("segment.ms", Operation.DELETE, None),
        Alteration("flush.ms", Operation.SET, "4"),
    ) == {"retention.ms": "3", "flush.ms": "4"}


def test_deleting_what_is_not_set_is_no_error() -> None:
    assert after({}, Alteration("retention.ms", Operation.DELETE, None)) == {}


def test_lists_grow_and_shrink_from_the_brokers_value() -> None:
    append = Alteration("cleanup.policy", Operation.APPEND, "compact")
    assert after({}, append) == {"cleanup.policy": "delete,compact"}
    twice = after({"cleanup.policy": "compact"}, append)
    assert twice == {"cleanup.policy": "compact"}
    subtract = Alteration("cleanup.policy", Operation.SUBTRACT, "delete")
    assert after({"cleanup.policy": "delete,compact"}, subtract) == {
        "cleanup.policy": "compact"
    }


def test_the_options_of_before_are_left_alone() -> None:
    before = {"retention.ms": "1"}
    after(before, Alteration("retention.ms", Operation.SET, "3"))
    assert before == {"retention.ms": "1"}


@pytest.mark.parametrize(
    ("alterations", "error", "complaint"),
    [
        ([Alteration("retention.ms", 9, "1")], InvalidRequest, "Unknown operation 9"),
        ([Alteration("retention.ms", -1, "1")], InvalidRequest, "Unknown operation -1"),
        ([Alteration("retention.ms", 0, None)], InvalidRequest, "Null value"),
        ([Alteration("", 0, "1")], InvalidRequest, "name is needed"),
        (
            [Alteration("retention.ms", 0, "1"), Alteration("retention.ms", 1, None)],
            InvalidRequest,
            "duplicate config keys",
        ),
        (
            [Alteration("retention.ms", 2, "1")],
            InvalidConfig,
            r"Can't APPEND to key retention\.ms because its type is not LIST",
        ),
        ([Alteration("no.such", 3, "1")], InvalidConfig, "Unknown topic config name"),
    ],
)
def test_what_makes_no_sense_is_refused(
    alterations: list[Alteration], error: type[KafkaError], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        check_alterations(alterations, find_topic_option)


def test_options_are_replaced_as_a_whole() -> None:
    assert replacing([("a", "1"), ("b", "")]) == {"a": "1", "b": ""}
    with pytest.raises(InvalidRequest, match="duplicate config keys"):
        replacing([("a", "1"), ("a", "2")])
    with pytest.raises(InvalidRequest, match="Null value not supported for : a"):
        replacing([("a", None)])
