from odradek.broker.runtime.start_error import StartError


def test_its_message_is_what_the_operator_reads() -> None:
    assert str(StartError("the port is taken")) == "the port is taken"
