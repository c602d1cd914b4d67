from odradek.pipeline.load.sent_counts import SparkFailure
from odradek.protocol.errors import TopicAuthorizationFailed


def test_a_refusal_is_known_by_its_name() -> None:
    text = "odradek.protocol.security_errors.TopicAuthorizationFailed: t-0: Not you."
    refusal = SparkFailure(text).refusal
    assert isinstance(refusal, TopicAuthorizationFailed)
    assert str(refusal) == "t-0: Not you."
    assert SparkFailure("ZeroDivisionError: division by zero").refusal is None
    assert SparkFailure("two tasks wrote one partition").refusal is None
