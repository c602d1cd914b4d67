"""The table of errors as a whole."""

import re

import pytest
from kio.schema.errors import ErrorCode as KioCode

from odradek.protocol import errors
from odradek.protocol.errors import ErrorCode, KafkaError, RetriableError, error_class

CODES = [code for code in ErrorCode if code is not ErrorCode.NONE]


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_class_that_is_named_like_it(code: ErrorCode) -> None:
    kind = error_class(code)
    assert kind.code is code
    assert getattr(errors, kind.__name__) is kind
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).upper()
    assert code.name in (name, f"{name}_EXCEPTION")


@pytest.mark.parametrize("code", CODES)
def test_the_same_errors_as_in_kafka_are_retriable(code: ErrorCode) -> None:
    kind = error_class(code)
    assert kind.retriable == KioCode(code).retriable
    assert issubclass(kind, RetriableError) == kind.retriable


def test_every_error_has_a_sentence_of_its_own() -> None:
    messages = [str(error_class(code)()) for code in CODES]
    assert len(set(messages)) == len(CODES)
    assert all(re.fullmatch(r"[A-Z].*\.", message) for message in messages)
    assert KafkaError in error_class(ErrorCode.NOT_COORDINATOR).__mro__
