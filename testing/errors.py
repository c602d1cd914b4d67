"""What can go wrong with a broker for tests."""


class BrokerError(Exception):
    """The broker did not start, or has ended; the message has its last lines."""


class Refused(BrokerError):
    """The broker says no. ``word`` is for programs, the message for people."""

    def __init__(self, word: str, message: str) -> None:
        super().__init__(message)
        self.word = word


class BadSnapshot(BrokerError):
    """There is no snapshot, or none that can be used; the message says why."""


class BadRecording(BrokerError):
    """There is no recording, or none that can be replayed; the message says why."""


class WaitTimeout(BrokerError, AssertionError):
    """What was waited for has not come; the message says what is missing."""


class SharedBroker(BrokerError):
    """Other tests use this broker as well, and what was asked would concern them."""
