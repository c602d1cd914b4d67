"""SCRAM (RFC 5802, RFC 7677), both sides, as functions of messages.

    client first   n,,n=USER,r=NONCE
    server first   r=NONCE MORE,s=SALT,i=ITERATIONS
    client final   c=biws,r=NONCE MORE,p=PROOF
    server final   v=SIGNATURE

As in Kafka there is no channel binding, and names and passwords are bare UTF-8, without
SASLprep. Whoever calls brings the nonces, and tells the other side nothing of why its
message was refused.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from binascii import a2b_base64, b2a_base64
from enum import IntEnum
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping

ITERATIONS_MIN = 4096
# What a client lets a server make it do: half a second of hashing.
CLIENT_ITERATIONS_MAX = 1_000_000
# The extension of a first message that logs in by a delegation token (KIP-48).
TOKEN_AUTH = "tokenauth"

_NAME = rb"(?:[^=,\0]|=2C|=3D)+"
_PRINTABLE = rb"[!-+\--~]+"
_BASE64 = rb"[A-Za-z0-9+/]+={0,2}"
_EXTENSIONS = rb"(?:,[A-Za-z]+=[^,\0]+)*"
_CLIENT_FIRST = (
    rb"(?P<gs2>n,(?:a=(?P<authzid>" + _NAME + rb"))?,)"
    rb"(?P<bare>n=(?P<user>" + _NAME + rb"),r=(?P<nonce>" + _PRINTABLE + rb")"
    rb"(?P<extensions>" + _EXTENSIONS + rb"))"
)
_SERVER_FIRST = (
    rb"r=(?P<nonce>" + _PRINTABLE + rb"),s=(?P<salt>" + _BASE64 + rb"),"
    rb"i=(?P<iterations>[1-9][0-9]{0,8})" + _EXTENSIONS
)
_CLIENT_FINAL = (
    rb"(?P<unproved>c=(?P<binding>" + _BASE64 + rb"),"
    rb"r=(?P<nonce>" + _PRINTABLE + rb")" + _EXTENSIONS + rb"),"
    rb"p=(?P<proof>" + _BASE64 + rb")"
)
_SERVER_FINAL = (
    rb"(?:v=(?P<signature>" + _BASE64 + rb")|e=(?P<error>[^,\0]+))" + _EXTENSIONS
)
_NO_BINDING = b"biws"  # "n,,"
# librdkafka until 2.6.0; Apache Kafka before 4.0 did not look.
_NONCE_TWICE = (
    "it sends its nonce twice, as librdkafka before 2.6.1 does, and Apache Kafka 4 "
    "refuses that too: update librdkafka (or what has it inside, as kcat)"
)


class Mechanism(IntEnum):
    """How passwords are hashed, numbered as on the wire (KIP-554)."""

    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2

    @property
    def title(self) -> str:
        """The name that SASL has for it."""
        return self.name.replace("_", "-")

    @property
    def algorithm(self) -> str:
        """The hash function's name."""
        return "sha256" if self is Mechanism.SCRAM_SHA_256 else "sha512"


class ScramError(Exception):
    """A message is none, or does not prove what it has to; says why, for ourselves."""


class ScramRefused(ScramError):
    """The server has answered that the login failed; says with which word."""


class Keys(Protocol):
    """What a server keeps of a password."""

    @property
    def iterations(self) -> int:
        """How often it was hashed."""

    @property
    def salt(self) -> bytes:
        """With what."""

    @property
    def stored_key(self) -> bytes:
        """The hash of what a client proves to know."""

    @property
    def server_key(self) -> bytes:
        """What the server proves to know."""


class ClientFirst(NamedTuple):
    """What a client begins with; ``authzid`` is empty where it is left out."""

    user: str
    authzid: str
    nonce: bytes
    extensions: Mapping[str, str]
    gs2_header: bytes
    bare: bytes

    @property
    def is_by_token(self) -> bool:
        """Whether ``user`` is the id of a delegation token."""
        if not self.extensions:
            return False
        return self.extensions.get(TOKEN_AUTH, "").lower() == "true"


class ServerFirst(NamedTuple):
    """What the server wants the password hashed with."""

    nonce: bytes
    salt: bytes
    iterations: int


class ClientFinal(NamedTuple):
    """The client's second message, and the signature that only a true server has."""

    message: bytes
    server_signature: bytes


def salted(password: bytes, salt: bytes, iterations: int, algorithm: str) -> bytes:
    """What the RFC calls SaltedPassword; milliseconds, for it is hashed as often."""
    return hashlib.pbkdf2_hmac(algorithm, password, salt, iterations)


def stored_and_server_key(
    salted_password: bytes, algorithm: str
) -> tuple[bytes, bytes]:
    """The keys that a server keeps of a password."""
    client_key = hmac.digest(salted_password, b"Client Key", algorithm)
    server_key = hmac.digest(salted_password, b"Server Key", algorithm)
    return hashlib.new(algorithm, client_key).digest(), server_key


# The client.


def client_first(
    user: str, nonce: str, extensions: Mapping[str, str] | None = None
) -> bytes:
    """The first message; ``nonce`` is printable, without a comma, and new each time."""
    name = user.replace("=", "=3D").replace(",", "=2C")
    more = "".join(f",{key}={value}" for key, value in (extensions or {}).items())
    return f"n,,n={name},r={nonce}{more}".encode()


def read_server_first(message: bytes, nonce: str) -> ServerFirst:
    """The answer to a first message with ``nonce``.

    Raises:
        ScramError: it is none, answers another one, or asks for too little hashing,
            which would make the password easy to guess for who listens, or too much.
    """
    found = _matched(_SERVER_FIRST, message)
    if found is None:
        raise ScramError("what the server answered is no first message of SCRAM")
    if not found["nonce"].startswith(nonce.encode()):
        raise ScramError("the server's nonce does not begin with ours")
    iterations = int(found["iterations"])
    if not ITERATIONS_MIN <= iterations <= CLIENT_ITERATIONS_MAX:
        raise ScramError(
            f"the server wants {iterations} iterations, outside {ITERATIONS_MIN} to"
            f" {CLIENT_ITERATIONS_MAX}"
        )
    return ServerFirst(found["nonce"], _decoded(found["salt"]), iterations)


def client_final(
    first: bytes, server_first: bytes, salted_password: bytes, algorithm: str
) -> ClientFinal:
    """The second message, which proves that we know the password.

    ``first`` and ``server_first`` are the messages until now, and the password is
    salted with what `read_server_first` found.
    """
    gs2_header, bare = first[:3], first[3:]  # as `client_first` begins
    found = _matched(_SERVER_FIRST, server_first)
    assert found is not None
    unproved = b"c=" + b2a_base64(gs2_header, newline=False) + b",r=" + found["nonce"]
    signed = b",".join((bare, server_first, unproved))
    client_key = hmac.digest(salted_password, b"Client Key", algorithm)
    server_key = hmac.digest(salted_password, b"Server Key", algorithm)
    stored_key = hashlib.new(algorithm, client_key).digest()
    proof = _xor(client_key, hmac.digest(stored_key, signed, algorithm))
    message = unproved + b",p=" + b2a_base64(proof, newline=False)
    return ClientFinal(message, hmac.digest(server_key, signed, algorithm))


def check_server_final(message: bytes, server_signature: bytes) -> None:
    """Whether the server knows our password too.

    Raises:
        ScramRefused: it says that we do not.
        ScramError: it does not.
    """
    found = _matched(_SERVER_FINAL, message)
    if found is None:
        raise ScramError("what the server answered is no last message of SCRAM")
    if found["error"] is not None:
        raise ScramRefused(found["error"].decode(errors="replace"))
    if not hmac.compare_digest(_decoded(found["signature"]), server_signature):
        raise ScramError("the server does not know the password")


# The server.


def read_client_first(message: bytes) -> ClientFirst:
    """What a client begins with.

    Raises:
        ScramError: it is none, asks for channel binding, or for an extension that
            the RFC keeps for later and has refused until then.
    """
    found = _matched(_CLIENT_FIRST, message)
    if found is None:
        raise ScramError("no first message of SCRAM without channel binding")
    extensions: dict[str, str] = {}
    for each in found["extensions"].split(b",")[1:]:
        key, _, value = each.partition(b"=")
        extensions[key.decode()] = value.decode(errors="replace")
    if "m" in extensions:
        raise ScramError("an extension that has to be understood")
    user, authzid = _name(found["user"]), _name(found["authzid"] or b"")
    nonce, gs2, bare = found["nonce"], found["gs2"], found["bare"]
    return ClientFirst(user, authzid, nonce, extensions, gs2, bare)


def server_first(first: ClientFirst, nonce: str, salt: bytes, iterations: int) -> bytes:
    """Answers ``first``; ``nonce`` is ours: printable, no comma, new each time."""
    whole = first.nonce + nonce.encode()
    return b"r=%b,s=%b,i=%d" % (whole, b2a_base64(salt, newline=False), iterations)


def server_final(
    first: ClientFirst, answered: bytes, message: bytes, keys: Keys, algorithm: str
) -> bytes:
    """The answer to the client's second message; ``answered`` was that to ``first``.

    Raises:
        ScramError: it does not prove that the client knows the password.
    """
    found = _matched(_CLIENT_FINAL, message)
    if found is None:
        raise ScramError("no second message of SCRAM")
    binding = found["binding"]
    if binding not in (_NO_BINDING, b2a_base64(first.gs2_header, newline=False)):
        raise ScramError("not the header that it began with")
    given = answered[2 : answered.index(b",")]
    if found["nonce"] == first.nonce + given:
        raise ScramError(_NONCE_TWICE)
    if found["nonce"] != given:
        raise ScramError("not the nonce that it was given")
    signed = b",".join((first.bare, answered, found["unproved"]))
    signature = hmac.digest(keys.stored_key, signed, algorithm)
    proof = _decoded(found["proof"])
    if len(proof) != len(signature):
        raise ScramError("a proof of another size")
    client_key = _xor(proof, signature)
    stored_key = hashlib.new(algorithm, client_key).digest()
    if not hmac.compare_digest(stored_key, keys.stored_key):
        raise ScramError("the proof does not fit")
    return b"v=" + b2a_base64(
        hmac.digest(keys.server_key, signed, algorithm), newline=False
    )


def _matched(pattern: bytes, message: bytes) -> re.Match[bytes] | None:
    return _compiled(pattern).fullmatch(message)


@cache  # four, a millisecond each: a start waits for none of them
def _compiled(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


def _name(escaped: bytes) -> str:
    try:
        if b"=" in escaped:
            escaped = escaped.replace(b"=2C", b",").replace(b"=3D", b"=")
        return escaped.decode()
    except UnicodeDecodeError as error:
        raise ScramError("a name that is no UTF-8") from error


def _decoded(text: bytes) -> bytes:
    try:
        return a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise ScramError("no base64") from error


def _xor(one: bytes, other: bytes) -> bytes:
    number = int.from_bytes(one, "big") ^ int.from_bytes(other, "big")
    return number.to_bytes(len(one), "big")
