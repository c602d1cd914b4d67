from pathlib import Path

import pytest

from odradek.client.security.names import SecurityOptionError
from odradek.client.security.sasl_options import read_sasl
from odradek.client.security.settings import OAuth, Sasl, Secret

P = "org.apache.kafka.common.security"
PLAIN = f"{P}.plain.PlainLoginModule"
OAUTH = f"{P}.oauthbearer.OAuthBearerLoginModule"
URL = "https://login.example.com/token"


def refused(**options: str) -> str:
    with pytest.raises(SecurityOptionError) as caught:
        read_sasl({name.replace("_", "."): value for name, value in options.items()})
    assert "marker" not in str(caught.value)
    return str(caught.value)


def test_a_user_by_name_and_password_or_by_a_login_module() -> None:
    alice = Sasl("PLAIN", "alice", Secret("p"))
    by_name = {"sasl.mechanism": "plain", "sasl.username": "alice"}
    assert read_sasl({**by_name, "sasl.password": "p"}) == alice
    jaas = f'{PLAIN} required username="alice" password="p";'
    assert read_sasl({"sasl.mechanism": "PLAIN", "sasl.jaas.config": jaas}) == alice


def test_delegation_tokens_log_in_by_scram() -> None:
    of = 'required username="id" password="hmac" tokenauth="true";'
    options = {
        "sasl.mechanism": "SCRAM-SHA-256",
        "sasl.jaas.config": f"{P}.scram.ScramLoginModule {of}",
    }
    assert read_sasl(options).is_token
    assert "by SCRAM" in refused(
        sasl_mechanism="PLAIN", sasl_jaas_config=f"{PLAIN} {of}"
    )


def test_mistakes() -> None:
    assert "is missing (by default GSSAPI)" in refused(sasl_username="alice")
    assert "and not 'GSSAPI'" in refused(sasl_mechanism="GSSAPI")
    assert "did you mean SCRAM-SHA-256?" in refused(sasl_mechanism="SCRAM-SHA256")
    assert "sasl.username: is missing" in refused(sasl_mechanism="PLAIN")
    said = refused(sasl_mechanism="PLAIN", sasl_username="alice")
    assert "sasl.password: is missing" in said
    both = {"sasl_mechanism": "PLAIN", "sasl_password": "marker"}
    jaas = f'{PLAIN} required username="alice" password="marker";'
    assert "leave one" in refused(**both, sasl_jaas_config=jaas)
    other = refused(sasl_mechanism="SCRAM-SHA-256", sasl_jaas_config=jaas)
    assert "has a PlainLoginModule" in other
    assert "needs a ScramLoginModule" in other
    broken = refused(sasl_mechanism="PLAIN", sasl_jaas_config=jaas[:-1])
    assert "there is no ; at its end" in broken
    for wrong in ("usernme", "passwort", "tokenaut", "Username"):
        misspelt = jaas.replace("required", f'required {wrong}="hush"')
        said = refused(sasl_mechanism="PLAIN", sasl_jaas_config=misspelt)
        assert f"has the option '{wrong}'; did you mean " in said
        assert "hush" not in said
    twice = refused(sasl_mechanism="PLAIN", sasl_jaas_config=jaas + jaas)
    assert "several modules" in twice


def test_where_tokens_come_from(tmp_path: Path) -> None:
    def oauth(**options: str) -> OAuth:
        named = {name.replace("_", "."): value for name, value in options.items()}
        return read_sasl({"sasl.mechanism": "OAUTHBEARER", **named}).oauth

    path = tmp_path / "a token"
    found = oauth(sasl_oauthbearer_token_endpoint_url=path.as_uri())
    assert found == OAuth(token_file=str(path))
    assert oauth(sasl_oauthbearer_token_file=str(path)) == found
    assert oauth(sasl_oauthbearer_token_command="get it").token_command == "get it"
    jaas = (
        f'{OAUTH} required clientId="me" clientSecret="s" scope="all"'
        ' extension_logicalCluster="lkc-1";'
    )
    java = oauth(sasl_jaas_config=jaas, sasl_oauthbearer_token_endpoint_url=URL)
    librdkafka = oauth(
        sasl_oauthbearer_token_endpoint_url=URL,
        sasl_oauthbearer_method="oidc",
        sasl_oauthbearer_client_id="me",
        sasl_oauthbearer_client_secret="s",
        sasl_oauthbearer_scope="all",
        sasl_oauthbearer_extensions="logicalCluster=lkc-1",
    )
    assert java == librdkafka
    assert java.extensions == (("logicalCluster", "lkc-1"),)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "says where tokens come from"),
        ({"token_endpoint_url": "http://a.example"}, "is a URL of https"),
        ({"token_endpoint_url": "https://a:b@c/"}, "has a user or password in it"),
        ({"token_endpoint_url": URL}, "client.id: is missing"),
        ({"token_endpoint_url": URL, "client_id": "me"}, "client.secret: is missing"),
        ({"token_file": "a", "token_command": "b"}, "one of these"),
        ({"token_file": "a", "extensions": "x"}, "is like key=value"),
        ({"token_file": "a", "extensions": "auth=marker"}, "no name of one"),
        ({"token_file": "a", "method": "default2"}, "is oidc"),
        ({"token_file": "a", "jwt_retriever_class": "x.Other"}, "a class of Java"),
    ],
)
def test_mistakes_of_oauthbearer(options: dict[str, str], said: str) -> None:
    named = {f"sasl_oauthbearer_{name}": value for name, value in options.items()}
    assert said in refused(sasl_mechanism="OAUTHBEARER", **named)


def test_unsigned_tokens_are_not_made() -> None:
    jaas = f'{OAUTH} required unsecuredLoginStringClaim_sub="alice";'
    said = refused(sasl_mechanism="OAUTHBEARER", sasl_jaas_config=jaas)
    assert "nobody has signed" in said
