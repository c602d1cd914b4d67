"""What the operator reads, when a broker cannot start."""

import errno
import socket

import pytest

from odradek.broker.runtime.start_error import StartError, why_not_listening


def test_its_message_is_what_the_operator_reads() -> None:
    assert str(StartError("the port is taken")) == "the port is taken"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.EADDRINUSE, "the port is in use"),
        (errno.EADDRNOTAVAIL, "this machine has no such address"),
        (errno.EACCES, "Permission denied"),
    ],
)
def test_an_address_is_not_named_twice(number: int, words: str) -> None:
    said = "error while attempting to bind on address ('192.0.2.1', 9092): nope"
    assert why_not_listening(OSError(number, said)) == words


def test_a_name_that_is_not_found_is_said_in_its_own_words() -> None:
    error = socket.gaierror(socket.EAI_NONAME, "Name or service not known")
    assert why_not_listening(error) == "Name or service not known"
