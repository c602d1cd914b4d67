import ssl
import time

import pytest

from odradek.broker.security.certificates.context import make_server_tls
from odradek.broker.security.certificates.stores import StoreError
from tests.broker.security.certificates.options import tls_options
from tests.certificates import Holder, alice, encrypted_key, server

NOW_S = time.time()


def test_what_options_ask_for_is_what_handshakes_are_made_with() -> None:
    tls = make_server_tls(tls_options(ssl_client_auth="required"), NOW_S)
    assert tls.certificate.subject == "CN=localhost,O=Example"
    assert tls.context.verify_mode is ssl.CERT_REQUIRED
    assert tls.context.num_tickets == 0
    assert tls.context.minimum_version is ssl.TLSVersion.TLSv1_2
    only_new = tls_options(ssl_enabled_protocols=("TLSv1.3",))
    context = make_server_tls(only_new, NOW_S).context
    assert context.minimum_version is ssl.TLSVersion.TLSv1_3


def test_a_key_behind_a_password() -> None:
    hidden = Holder(server().certificate, encrypted_key(server(), "secret"))
    make_server_tls(tls_options(hidden, ssl_key_password="secret"), NOW_S)
    with pytest.raises(StoreError, match=r"\(ssl\.key\.password\) is wrong"):
        make_server_tls(tls_options(hidden, ssl_key_password="no"), NOW_S)
    with pytest.raises(StoreError, match=r"encrypted: set ssl\.key\.password"):
        make_server_tls(tls_options(hidden), NOW_S)


def test_a_key_of_somebody_else_is_refused() -> None:
    mixed = Holder(server().certificate, alice().key)
    with pytest.raises(StoreError, match="the key is not that of the"):
        make_server_tls(tls_options(mixed), NOW_S)


def test_an_expired_certificate_is_refused() -> None:
    in_ten_years = NOW_S + 3650 * 86400
    with pytest.raises(StoreError, match="has expired 2850 days ago"):
        make_server_tls(tls_options(), in_ten_years)


def test_rules_and_suites_are_looked_at() -> None:
    with pytest.raises(StoreError, match=r"ssl\.principal\.mapping\.rules: 'x'"):
        make_server_tls(tls_options(ssl_principal_mapping_rules="x"), NOW_S)
    with pytest.raises(StoreError, match=r"ssl\.cipher\.suites: there is no cipher"):
        make_server_tls(tls_options(ssl_cipher_suites=("NONE-OF-THESE",)), NOW_S)
