"""The options of TLS: what the broker shows to clients, whom it trusts, what it speaks.

Kafka's, and three of ours that name files of PEM. Each may be set for one listener
(see `security`).
"""

from dataclasses import dataclass
from functools import partial

from odradek.broker.config.options.option import Kind
from odradek.broker.config.options.option import option as any_option

option = partial(any_option, is_per_listener=True)
# As in Kafka, clients may change these for one listener, and only so.
renewable = partial(option, is_dynamic=True)


@dataclass(frozen=True, init=False, repr=False, eq=False)
class TlsOptions:
    """Keys, certificates, and what is asked of clients."""

    ssl_certificate_file: str | None = renewable(
        None,
        "ssl.certificate.file",
        "File with the broker's certificate and those up to its CA, as PEM.",
        kind=Kind.STRING,
    )
    ssl_key_file: str | None = renewable(
        None,
        "ssl.key.file",
        "File with the key of it, as PEM. Unset: it is in the same file.",
        kind=Kind.STRING,
    )
    ssl_ca_file: str | None = renewable(
        None,
        "ssl.ca.file",
        "File with the certificates of CAs whose clients are trusted, as PEM.",
        kind=Kind.STRING,
    )
    ssl_keystore_type: str = renewable(
        "JKS",
        "ssl.keystore.type",
        "What the keystore is: PEM, PKCS12; JKS, if it is in truth PKCS12.",
    )
    ssl_keystore_location: str | None = renewable(
        None,
        "ssl.keystore.location",
        "File with the broker's key and certificates.",
        kind=Kind.STRING,
    )
    ssl_keystore_password: str | None = renewable(
        None,
        "ssl.keystore.password",
        "The password of that file; none with PEM.",
        kind=Kind.PASSWORD,
    )
    ssl_keystore_key: str | None = renewable(
        None,
        "ssl.keystore.key",
        "The broker's key itself, as PEM.",
        kind=Kind.PASSWORD,
    )
    ssl_keystore_certificate_chain: str | None = renewable(
        None,
        "ssl.keystore.certificate.chain",
        "The broker's certificate itself and those up to its CA, as PEM.",
        kind=Kind.PASSWORD,
    )
    ssl_key_password: str | None = renewable(
        None,
        "ssl.key.password",
        "The password of the key, where it is encrypted.",
        kind=Kind.PASSWORD,
    )
    ssl_truststore_type: str = renewable(
        "JKS",
        "ssl.truststore.type",
        "What the truststore is: PEM, PKCS12; JKS, if it is in truth PKCS12.",
    )
    ssl_truststore_location: str | None = renewable(
        None,
        "ssl.truststore.location",
        "File with the certificates of CAs whose clients are trusted.",
        kind=Kind.STRING,
    )
    ssl_truststore_password: str | None = renewable(
        None,
        "ssl.truststore.password",
        "The password of that file; none with PEM.",
        kind=Kind.PASSWORD,
    )
    ssl_truststore_certificates: str | None = renewable(
        None,
        "ssl.truststore.certificates",
        "The certificates of CAs themselves, as PEM.",
        kind=Kind.PASSWORD,
    )
    ssl_client_auth: str = option(
        "none",
        "ssl.client.auth",
        "Whether clients show a certificate: none; requested, those that have one;"
        " required. Of a SASL_SSL listener only with its name in front.",
        choices=("required", "requested", "none"),
    )
    ssl_enabled_protocols: tuple[str, ...] = option(
        ("TLSv1.2", "TLSv1.3"),
        "ssl.enabled.protocols",
        "The versions of TLS that are spoken.",
    )
    ssl_protocol: str = option(
        "TLSv1.3",
        "ssl.protocol",
        "Which of them Java would begin with. Those that are enabled are spoken.",
    )
    ssl_cipher_suites: tuple[str, ...] = option(
        (),
        "ssl.cipher.suites",
        "The cipher suites that are spoken, by the names of IANA or of OpenSSL. Empty:"
        " what is held for safe.",
    )
    ssl_endpoint_identification_algorithm: str = renewable(
        "https",
        "ssl.endpoint.identification.algorithm",
        "https: of other brokers and of controllers the host name is compared with"
        " their certificate. Empty: it is not.",
    )
    ssl_principal_mapping_rules: str = option(
        "DEFAULT",
        "ssl.principal.mapping.rules",
        "What becomes of the distinguished name in a client's certificate: DEFAULT, or"
        " rules like RULE:^CN=([^,]+).*$/$1/L, of which the first that fits counts.",
    )
    ssl_allow_dn_changes: bool = option(
        False,
        "ssl.allow.dn.changes",
        "Whether a new certificate by the API may have another distinguished name.",
    )
    ssl_allow_san_changes: bool = option(
        False,
        "ssl.allow.san.changes",
        "Whether a new certificate by the API may lack names of the old one.",
    )
