import pytest

from odradek.pipeline.security.clear_secrets import clear_secret

JAAS = "kafka.sasl.jaas.config"


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("kafka.sasl.password", "open sesame"),
        ("KAFKA.SSL.KEY.PASSWORD", "open sesame"),
        ("kafka.ssl.keystore.key", "-----BEGIN PRIVATE KEY-----"),
        ("kafka.sasl.oauthbearer.client.credentials.client.secret", "x"),
        (JAAS, 'x.PlainLoginModule required username="a" password="b";'),
        (JAAS, 'x.OAuthBearerLoginModule required clientSecret="b";'),
        (JAAS, "nothing of it is as it should be"),
    ],
)
def test_secrets_as_they_are(option: str, value: str) -> None:
    assert clear_secret({"kafka.client.id": "x", option: value}) == option


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("kafka.sasl.password", "${env:PASSWORD}"),
        ("kafka.sasl.password", " "),
        ("kafka.sasl.username", "alice"),
        ("kafka.ssl.key.location", "/etc/key.pem"),
        (JAAS, 'x.PlainLoginModule required username="a" password="${env:P}";'),
        (JAAS, "x.OAuthBearerLoginModule required;"),
        (JAAS, "${file:/etc/secrets:jaas}"),
    ],
)
def test_what_anybody_may_see(option: str, value: str) -> None:
    assert clear_secret({option: value}) == ""
