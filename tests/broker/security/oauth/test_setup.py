"""Logins by OAUTHBEARER at a listener, as its options have it."""

import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.metadata import MetadataRequest
from tests.fakes.issuer import (
    NOW_S,
    by_secret,
    jwk,
    jwks,
    private_key,
    token,
    unsecured,
)
from tests.fakes.login import LoginClient, login_broker
from tests.fakes.network import settle

METADATA = MetadataRequest(topics=[])
REFUSED = ErrorCode.SASL_AUTHENTICATION_FAILED


def options(folder: Path, *keys: str, **more: Any) -> dict[str, Any]:
    path = folder / "keys.json"
    path.write_bytes(jwks(*(jwk("ES256", name) for name in keys or ("a",))))
    return {
        "sasl_enabled_mechanisms": ("OAUTHBEARER", "PLAIN"),
        "sasl_oauthbearer_jwks_endpoint_url": path.as_uri(),
        "sasl_oauthbearer_expected_audience": ("kafka",),
        "sasl_oauthbearer_expected_issuer": "https://issuer.test",
        **more,
    }


def bearer(text: str) -> bytes:
    return f"n,,\1auth=Bearer {text}\1\1".encode()


async def log_in(client: LoginClient, text: str) -> Any:
    """The last answer: to the token, or to who has seen that it is refused."""
    assert (await client.handshake("OAUTHBEARER")).error_code == 0
    answer = await client.authenticate(bearer(text))
    if answer.auth_bytes:
        assert answer.error_code == 0
        assert json.loads(bytes(answer.auth_bytes)) == {"status": "invalid_token"}
        answer = await client.authenticate(b"\1")
    return answer


async def test_a_token_logs_in_for_as_long_as_it_is_good(tmp_path: Path) -> None:
    async with login_broker(tmp_path / "data", **options(tmp_path)) as broker:
        client = broker.connect()
        answer = await log_in(client, token("ES256", "a", exp=NOW_S + 100))
        assert (answer.error_code, answer.session_lifetime_ms) == (0, 130_000)
        assert client.principal == "User:alice"
        assert (await client.ask(METADATA, 12)).topics == []
        broker.clock.advance(120_000)
        again = await log_in(client, token("ES256", "a", exp=NOW_S + 300))
        assert again.error_code == 0
        assert again.session_lifetime_ms > 130_000
        assert (await client.ask(METADATA, 12)).topics == []


async def test_who_does_not_log_in_again_is_cut_off(tmp_path: Path) -> None:
    more = {"connections_max_reauth_ms": 50_000}
    async with login_broker(tmp_path / "data", **options(tmp_path, **more)) as broker:
        client = broker.connect()
        answer = await log_in(client, token("ES256", "a"))
        assert answer.session_lifetime_ms == 50_000, "the sooner of both"
        broker.clock.advance(50_000)
        assert await client.ask(METADATA, 12) is None


async def test_nobody_becomes_somebody_else(tmp_path: Path) -> None:
    async with login_broker(tmp_path / "data", **options(tmp_path)) as broker:
        client = broker.connect()
        await log_in(client, token("ES256", "a"))
        broker.clock.advance(2_000)
        answer = await log_in(client, token("ES256", "a", sub="bob"))
        assert answer.error_code == REFUSED
        await settle()
        assert client.is_closed


async def test_a_token_that_is_not_good_is_refused_by_its_status(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with login_broker(tmp_path / "data", **options(tmp_path)) as broker:
        client = broker.connect()
        text = token("ES256", "a", sub="eve\n\x1b[31m", exp=NOW_S - 31)
        answer = await log_in(client, text)
        assert answer.error_code == REFUSED
        assert answer.error_message == '{"status":"invalid_token"}'
        await settle()
        assert client.is_closed
    line = [each for each in caplog.messages if "refused" in each][-1]
    assert line.startswith("login of eve\\n\\x1b[31m from 127.0.0.1")
    assert line.endswith("by OAUTHBEARER refused: it has expired")
    assert text[-20:] not in caplog.text


def forged(name: str) -> str:
    """A token that somebody made up, or that is not meant for us."""
    public = private_key("RS256", "a").public_key()
    pem = public.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    made = {
        "none": unsecured,
        "HS256 by the public key": lambda: by_secret(pem, kid="a"),
        "expired": lambda: token("RS256", "a", exp=NOW_S - 31),
        "wrong audience": lambda: token("RS256", "a", aud="mail"),
        "60 KB": lambda: token("RS256", "a", more="x" * 45_000),
    }
    return made[name]()


@pytest.mark.parametrize(
    "name",
    ["none", "HS256 by the public key", "expired", "wrong audience", "60 KB"],
)
async def test_what_is_forged_gets_58_and_no_more(name: str, tmp_path: Path) -> None:
    """A08: the same for all of them, and the connection is closed."""
    more = options(tmp_path)
    (tmp_path / "keys.json").write_bytes(jwks(jwk("RS256", "a")))
    async with login_broker(tmp_path / "data", **more) as broker:
        good = broker.connect()
        assert (await log_in(good, token("RS256", "a"))).error_code == 0
        client = broker.connect()
        answer = await log_in(client, forged(name))
        assert answer.error_code == REFUSED
        assert answer.error_message == '{"status":"invalid_token"}'
        await settle()
        assert client.is_closed
        assert not good.is_closed
        for logins in broker.services.logins:
            logins.close()


async def test_bare_tokens_log_in_too(tmp_path: Path) -> None:
    """S009"""
    async with login_broker(tmp_path / "data", **options(tmp_path)) as broker:
        client = broker.connect()
        await client.handshake("OAUTHBEARER", 0)
        client.send_bytes(bearer(token("ES256", "a")))
        assert await client.frame() == b""
        assert client.principal == "User:alice"
        client = broker.connect()
        await client.handshake("OAUTHBEARER", 0)
        client.send_bytes(bearer(token("ES256", "b")))
        assert await client.frame() == b'{"status":"invalid_token"}'
        client.send_bytes(b"\1")
        assert await client.frame() is None


async def test_keys_that_are_added_to_a_file_are_found(tmp_path: Path) -> None:
    async with login_broker(tmp_path / "data", **options(tmp_path)) as broker:
        options(tmp_path, "a", "b")
        answer = await log_in(broker.connect(), token("ES256", "b"))
        assert answer.error_code == 0
        for logins in broker.services.logins:
            logins.close()


async def test_what_the_options_of_a_mechanism_say_is_asked_of_tokens(
    tmp_path: Path,
) -> None:
    prefix = "listener.name.sasl_plaintext.oauthbearer.sasl."
    of_listeners = {
        f"{prefix}oauthbearer.sub.claim.name": "upn",
        f"{prefix}oauthbearer.clock.skew.seconds": 0,
        f"{prefix}jaas.config": "x.OAuthBearerLoginModule required"
        ' unsecuredValidatorRequiredScope="kafka write";',
    }
    more = options(tmp_path, of_listeners=of_listeners)
    async with login_broker(tmp_path / "data", **more) as broker:
        good = {"upn": "bob", "scope": "write kafka"}
        client = broker.connect()
        answer = await log_in(client, token("ES256", "a", **good))
        assert answer.error_code == 0
        assert client.principal == "User:bob"
        for wrong in ({"upn": None}, {"scope": "kafka"}, {"exp": NOW_S}):
            text = token("ES256", "a", **(good | wrong))
            assert (await log_in(broker.connect(), text)).error_code == REFUSED


async def test_unsecured_tokens(tmp_path: Path) -> None:
    module = (
        'x.OAuthBearerLoginModule required unsecuredValidatorPrincipalClaimName="upn"'
        ' unsecuredValidatorAllowableClockSkewMs="5000"'
        ' unsecuredLoginStringClaim_sub="x";'
    )
    wanted = {
        "sasl_enabled_mechanisms": ("OAUTHBEARER",),
        "allow_unsecured_tokens": True,
        "sasl_jaas_config": module,
    }
    async with login_broker(tmp_path, **wanted) as broker:
        client = broker.connect()
        assert (await log_in(client, unsecured(upn="bob"))).error_code == 0
        assert client.principal == "User:bob"
        for wrong in ({"upn": 7}, {"upn": "bob", "exp": NOW_S - 5}):
            answer = await log_in(broker.connect(), unsecured(**wrong))
            assert answer.error_code == REFUSED


async def test_signed_tokens_only_where_keys_are_known(tmp_path: Path) -> None:
    async with login_broker(tmp_path / "data", **options(tmp_path)) as broker:
        assert (await log_in(broker.connect(), unsecured())).error_code == REFUSED


@pytest.mark.parametrize(
    ("content", "complaint"),
    [(None, "No such file"), (b"{}", "it is no JSON like"), (b'{"keys":[]}', "no key")],
)
async def test_keys_that_are_not_there_stop_the_start(
    tmp_path: Path, content: bytes | None, complaint: str
) -> None:
    more = options(tmp_path)
    (tmp_path / "keys.json").unlink()
    if content is not None:
        (tmp_path / "keys.json").write_bytes(content)
    with pytest.raises(StartError, match=complaint):
        async with login_broker(tmp_path / "data", **more):
            pass


async def test_a_package_that_is_missing_is_named_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(
        "odradek.broker.security.oauth.setup.find_spec", lambda name: None
    )
    with pytest.raises(StartError, match=r"pip install .*\[security\]"):
        async with login_broker(tmp_path / "data", **options(tmp_path)):
            pass


@pytest.mark.parametrize(
    ("module", "complaint"),
    [
        ('ssl.truststore.location="/x.jks"', "read as PEM alone"),
        ('ssl.truststore.location="/x" ssl.truststore.type="PEM"', "cannot read"),
        ('ssl.truststore.location="{empty}" ssl.truststore.type="PEM"', "no certif"),
    ],
)
async def test_whom_the_server_is_vouched_for_by_is_read_at_the_start(
    tmp_path: Path, module: str, complaint: str
) -> None:
    empty = tmp_path / "empty.pem"
    empty.touch()
    text = f"x.OAuthBearerLoginModule required {module.format(empty=empty)};"
    wanted = {
        "sasl_enabled_mechanisms": ("OAUTHBEARER",),
        "sasl_oauthbearer_jwks_endpoint_url": "https://127.0.0.1:1/keys",
        "sasl_jaas_config": text,
    }
    with pytest.raises(StartError, match=complaint):
        async with login_broker(tmp_path / "data", **wanted):
            pass
