from odradek.testing.errors import BrokerError, Refused, SharedBroker, WaitTimeout


def test_what_goes_wrong_is_one_family() -> None:
    for each in (Refused, SharedBroker, WaitTimeout):
        assert issubclass(each, BrokerError)


def test_a_refusal_has_a_word_for_programs() -> None:
    refused = Refused("bad-request", "count is 0")
    assert (refused.word, str(refused)) == ("bad-request", "count is 0")


def test_what_does_not_come_in_time_fails_a_test() -> None:
    assert issubclass(WaitTimeout, AssertionError)
