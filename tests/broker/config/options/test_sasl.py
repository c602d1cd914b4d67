from odradek.broker.config.options.broker_config import OPTIONS


def test_mechanisms_are_in_capitals() -> None:
    known = OPTIONS["sasl.enabled.mechanisms"][1]
    assert known.parse("plain, scram-sha-256") == ("PLAIN", "SCRAM-SHA-256")
    assert known.default == ("GSSAPI",)


def test_nobody_is_shown_a_login_module() -> None:
    assert OPTIONS["sasl.jaas.config"][1].is_sensitive
