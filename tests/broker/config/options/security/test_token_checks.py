from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.login_checks import login_warnings
from odradek.broker.config.options.security.per_listener import SecurityOptions

HTTPS = "https://issuer.test/keys?x=1"


def config(
    url: str | None = None, host: str = "127.0.0.1", **more: Any
) -> BrokerConfig:
    return BrokerConfig(
        listeners=(Listener("SASL_PLAINTEXT", host, 1),),
        sasl_enabled_mechanisms=("OAUTHBEARER",),
        sasl_oauthbearer_jwks_endpoint_url=url,
        **more,
    )


def warnings(options: BrokerConfig) -> list[str]:
    security = SecurityOptions.of(options, "SASL_PLAINTEXT")
    return [each for each in login_warnings(security) if "records" not in each]


@pytest.mark.parametrize(
    "url",
    [
        HTTPS,
        "http://127.0.0.1:8080/keys",
        "http://[::1]/keys",
        "http://localhost/keys",
        "file:///etc/keys.json",
    ],
)
def test_places_of_keys(url: str) -> None:
    config(url).check()


@pytest.mark.parametrize(
    ("url", "complaint"),
    [
        ("http://issuer.test/keys", "over http anybody on the way"),
        ("http://127.0.0.1.issuer.test/", "over http anybody on the way"),
        ("ftp://issuer.test/", "write https://HOST/PATH"),
        ("issuer.test/keys", "write https://HOST/PATH"),
        ("https:///keys", "write https://HOST/PATH"),
        ("https://me:secret@issuer.test/", "a name, a password"),
        ("https://issuer.test/#x", "a name, a password"),
        ("https://issuer.test:port/", "no address"),
        ("https://[::1/", "no address"),
        ("file://host/keys", "write file:///FOLDER/FILE"),
        ("file:", "write file:///FOLDER/FILE"),
    ],
)
def test_other_places_are_refused(url: str, complaint: str) -> None:
    with pytest.raises(OptionError, match=complaint) as refused:
        config(url).check()
    assert "\n" not in str(refused.value)


def test_the_lists_of_apache_kafka_are_heeded(tmp_path: Path) -> None:
    urls = {"org_apache_kafka_sasl_oauthbearer_allowed_urls": (HTTPS,)}
    config(HTTPS, **urls).check()
    with pytest.raises(OptionError, match=r"is not in org\.apache.*allowed\.urls"):
        config(f"{HTTPS}2", **urls).check()
    path = tmp_path / "a key.json"
    files = {"org_apache_kafka_sasl_oauthbearer_allowed_files": (str(path),)}
    config(path.as_uri(), **files).check()
    config(HTTPS, **files).check()
    with pytest.raises(OptionError, match=r"is not in org\.apache.*allowed\.files"):
        config((tmp_path / "other").as_uri(), **files).check()


def test_without_keys_it_has_to_be_said_that_nobody_signs() -> None:
    with pytest.raises(OptionError, match=r"jwks\.endpoint\.url, where the keys are"):
        config().check()
    config(allow_unsecured_tokens=True).check()


def test_unsecured_tokens_are_for_this_machine_and_nothing_else() -> None:
    unsecured = {"allow_unsecured_tokens": True}
    with pytest.raises(OptionError, match="let only this machine in"):
        config(None, "192.0.2.1", allow_cleartext_secrets=True, **unsecured).check()
    with pytest.raises(OptionError, match="leave one of them out"):
        config(HTTPS, **unsecured).check()


def test_tokens_in_the_open_are_refused() -> None:
    with pytest.raises(OptionError, match="tokens come over the network"):
        config(HTTPS, "192.0.2.1").check()
    config(HTTPS, "192.0.2.1", allow_cleartext_secrets=True).check()


def test_what_somebody_should_know() -> None:
    audience, issuer = warnings(config(HTTPS))
    assert "expected.audience is not set" in audience
    assert "expected.issuer is not set" in issuer
    expected = {
        "sasl_oauthbearer_expected_audience": ("kafka",),
        "sasl_oauthbearer_expected_issuer": "https://issuer.test",
    }
    assert warnings(config(HTTPS, **expected)) == []
    (unsecured,) = warnings(config(allow_unsecured_tokens=True))
    assert "whoever it says it is" in unsecured
