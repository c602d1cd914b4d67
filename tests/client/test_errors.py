import pytest

from odradek.client.errors import error_of, raise_for
from odradek.protocol.errors import ErrorCode, KafkaError, NonEmptyGroup


def test_an_error_has_the_words_of_the_broker_or_ours() -> None:
    assert isinstance(error_of(68), NonEmptyGroup)
    assert str(error_of(68)) == "The group still has members."
    assert str(error_of(68, "so it is")) == "so it is"
    assert str(error_of(68, "")) == "The group still has members."


def test_a_code_that_nobody_knows() -> None:
    assert str(error_of(9999)) == "The broker answered error 9999."
    assert str(error_of(9999, "new")) == "new"


def test_no_error_is_not_raised() -> None:
    raise_for(0)
    with pytest.raises(KafkaError) as raised:
        raise_for(69)
    assert raised.value.code == ErrorCode.GROUP_ID_NOT_FOUND
