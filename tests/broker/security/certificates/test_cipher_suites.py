import ssl

import pytest

from odradek.broker.security.certificates.cipher_suites import (
    choose_suites,
    openssl_name,
)

NEWER = (
    "TLS_AES_256_GCM_SHA384",
    "TLS_CHACHA20_POLY1305_SHA256",
    "TLS_AES_128_GCM_SHA256",
)
OLDER = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384"


def context(*versions: ssl.TLSVersion) -> ssl.SSLContext:
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    made.minimum_version, made.maximum_version = min(versions), max(versions)
    return made


BOTH = (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3)


@pytest.mark.parametrize(
    ("iana", "openssl"),
    [
        (OLDER, "ECDHE-RSA-AES256-GCM-SHA384"),
        ("TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256", "ECDHE-ECDSA-AES128-SHA256"),
        (
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            "ECDHE-ECDSA-CHACHA20-POLY1305",
        ),
        ("TLS_DHE_RSA_WITH_AES_128_GCM_SHA256", "DHE-RSA-AES128-GCM-SHA256"),
        ("TLS_RSA_WITH_AES_128_CBC_SHA", "AES128-SHA"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_both_names_of_a_suite_are_known(iana: str, openssl: str) -> None:
    assert openssl_name(iana) == openssl


def test_by_default_only_the_safe_are_spoken() -> None:
    made = context(*BOTH)
    choose_suites(made, ())
    for suite in made.get_ciphers():
        assert suite["aead"], suite["name"]
        assert suite["protocol"] == "TLSv1.3" or suite["name"].startswith("ECDHE")


def test_those_of_1_2_can_be_chosen() -> None:
    made = context(ssl.TLSVersion.TLSv1_2)
    choose_suites(made, (OLDER,))
    names = {x["name"] for x in made.get_ciphers() if x["protocol"] != "TLSv1.3"}
    assert names == {"ECDHE-RSA-AES256-GCM-SHA384"}


@pytest.mark.parametrize("names", [(*NEWER, OLDER)])
def test_all_of_1_3_and_some_of_1_2(names: tuple[str, ...]) -> None:
    choose_suites(context(*BOTH), names)


@pytest.mark.skipif(
    hasattr(ssl.SSLContext, "set_ciphersuites"), reason="this Python can choose"
)
@pytest.mark.parametrize("names", [(OLDER,), (NEWER[0], OLDER)])
def test_a_list_without_some_of_1_3_is_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"ssl\.enabled\.protocols=TLSv1\.2"):
        choose_suites(context(*BOTH), names)


def test_a_list_that_leaves_1_2_without_any_is_refused() -> None:
    with pytest.raises(ValueError, match=r"ssl\.enabled\.protocols=TLSv1\.3"):
        choose_suites(context(*BOTH), NEWER)
    choose_suites(context(ssl.TLSVersion.TLSv1_3), NEWER)


def test_an_unknown_one_is_named() -> None:
    with pytest.raises(ValueError, match="no cipher suite ROT13"):
        choose_suites(context(ssl.TLSVersion.TLSv1_2), (OLDER, "ROT13"))
