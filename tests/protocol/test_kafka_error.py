import subprocess
import sys

import pytest
from kio.schema.errors import ErrorCode as KioCode

from odradek.protocol.kafka_error import (
    ErrorCode,
    KafkaError,
    MalformedRequest,
    RetriableError,
    error_class,
)
from odradek.protocol.log_errors import CorruptMessage, KafkaStorageError


def test_codes_are_kafkas() -> None:
    kafkas = {code.value: code.name.upper() for code in KioCode}
    assert {code.value: code.name for code in ErrorCode} == kafkas


def test_message_is_the_docstring_unless_somebody_knows_better() -> None:
    assert str(KafkaStorageError()) == KafkaStorageError.__doc__
    assert str(KafkaStorageError("disk sda1 is gone")) == "disk sda1 is gone"
    assert str(KafkaStorageError("")) == ""


def test_message_without_docstrings_is_the_name() -> None:
    program = (
        "from odradek.protocol.errors import CorruptMessage; print(CorruptMessage())"
    )
    done = subprocess.run(
        [sys.executable, "-OO", "-c", program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == "CORRUPT_MESSAGE\n"


def test_subclass_without_a_code_keeps_its_parents() -> None:
    class DiskOnFire(KafkaStorageError):
        """The disk is on fire."""

    assert DiskOnFire.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert DiskOnFire.retriable
    assert str(DiskOnFire()) == "The disk is on fire."
    assert error_class(ErrorCode.KAFKA_STORAGE_ERROR) is KafkaStorageError


def test_a_code_has_one_class() -> None:
    with pytest.raises(TypeError, match="CorruptMessage"):

        class Again(KafkaError, code=ErrorCode.CORRUPT_MESSAGE):
            pass


def test_class_of_a_code() -> None:
    assert error_class(2) is CorruptMessage
    assert error_class(9999) is KafkaError
    with pytest.raises(ValueError, match="not an error"):
        error_class(0)


def test_retriable_is_said_by_the_parent() -> None:
    assert issubclass(CorruptMessage, RetriableError)
    assert CorruptMessage.retriable
    assert not KafkaError.retriable


def test_what_is_no_request_is_not_answered() -> None:
    assert not issubclass(MalformedRequest, KafkaError)


def test_a_message_that_quotes_too_much_is_cut() -> None:
    assert len(str(KafkaError("é" * 40_000)).encode()) < 32_767
    assert str(KafkaError("short")) == "short"
