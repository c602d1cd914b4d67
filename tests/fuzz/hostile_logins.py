"""Hostile beginnings of connections: hellos of TLS and logins of SASL, mutated.

Most are a good beginning with a slip somewhere: a bit of a hello, a byte of a token, a
frame too many, too few or in another place. What is asked is sent at once, so that a
beginning costs one turn; of SCRAM the second message then fits no nonce.
"""

import base64
import random
import ssl
import struct
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from odradek.protocol.headers import encode_request
from odradek.protocol.messages.api_versions import ApiVersionsRequest
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.sasl import (
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from odradek.protocol.schema import Request
from odradek.protocol.scram import client_first
from tests.fuzz.frames import mutated

USER, PASSWORD = "alice", "secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
_FINAL = b"c=biws,r=nonce%s,p=" + base64.b64encode(bytes(32))
TOKENS = {
    "PLAIN": [f"\0{USER}\0{PASSWORD}".encode()],
    "SCRAM-SHA-256": [client_first(USER, "nonce"), _FINAL % b"more"],
    "SCRAM-SHA-512": [b"n,,n=a=2Cb,r=nonce,tokenauth=true", _FINAL % b""],
    "OAUTHBEARER": [b"n,,\x01auth=Bearer %s\x01\x01", b"\x01"],
}


class Beginning(NamedTuple):
    """What is sent to a listener, named after its protocol."""

    listener: str
    sent: bytes


def good_login(mechanism: str, version: int = 1, jwt: str = "") -> list[bytes]:
    """The frames of one login, without their lengths; ``jwt`` is for OAUTHBEARER."""
    frames = [
        _frame(ApiVersionsRequest(), 3),
        _frame(SaslHandshakeRequest(mechanism=mechanism), version),
    ]
    tokens = TOKENS[mechanism]
    if mechanism == "OAUTHBEARER":
        tokens = [tokens[0] % jwt.encode(), *tokens[1:]]
    if version == 0:
        return [*frames, *tokens]
    return frames + [
        _frame(SaslAuthenticateRequest(auth_bytes=token), 2) for token in tokens
    ]


def joined(frames: Sequence[bytes]) -> bytes:
    return b"".join(struct.pack(">i", len(frame)) + frame for frame in frames)


def _frame(request: Request, version: int) -> bytes:
    return bytes(encode_request(request, version, 7, "fuzz"))[4:]


def hellos() -> list[bytes]:
    """First records of clients that speak TLS, of several kinds."""
    found = []
    for name in (None, "localhost", "a" * 60 + ".example"):
        for lowest, highest in (("TLSv1_2", "TLSv1_2"), ("TLSv1_2", "TLSv1_3")):
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.minimum_version = ssl.TLSVersion[lowest]
            context.maximum_version = ssl.TLSVersion[highest]
            context.set_alpn_protocols(["h2", "kafka"])
            sent = ssl.MemoryBIO()
            half = context.wrap_bio(ssl.MemoryBIO(), sent, server_hostname=name)
            try:
                half.do_handshake()
            except ssl.SSLWantReadError:
                found.append(sent.read())
    return found


def hostile_beginnings(count: int, seed: int, jwt: str) -> Iterator[Beginning]:
    """``count`` of them: two of three log in, one says hello, some to the wrong one."""
    chance = random.Random(seed)
    logins = [
        good_login(mechanism, version, jwt)
        for mechanism in MECHANISMS
        for version in (0, 1, 1)
    ]
    all_frames = [frame for login in logins for frame in login]
    all_frames.append(_frame(MetadataRequest(topics=None), 12))
    tls = hellos()
    for _ in range(count):
        if chance.random() < 0.66:
            frames = list(chance.choice(logins))
            _slip(chance, frames, all_frames)
            sent, listener = joined(frames), "SASL_PLAINTEXT"
            if chance.random() < 0.1:  # the lengths, too
                sent = mutated(chance, bytearray(sent), all_frames)
        else:
            sent = mutated(chance, bytearray(chance.choice(tls)), tls)
            listener = chance.choice(("SSL", "SASL_SSL"))
        if chance.random() < 0.02:
            listener = chance.choice(("SSL", "SASL_SSL", "SASL_PLAINTEXT"))
        yield Beginning(listener, sent)


def _slip(
    chance: random.Random, frames: list[bytes], all_frames: Sequence[bytes]
) -> None:
    """Change one frame, or which there are; now and then more of that."""
    for _ in range(chance.choice((1, 1, 1, 2, 3))):
        place = chance.randrange(len(frames)) if frames else 0
        match chance.randrange(10):
            case 0:
                frames.insert(place, chance.choice(all_frames))
            case 1:
                del frames[place:]
            case 2:
                frames.reverse()
            case 3 if frames:
                frames.insert(place, frames[place])
            case 4:
                frames.insert(place, b"")
            case 5:
                frames.append(chance.randbytes(chance.choice((1, 30, 3_000))))
            case _ if frames:
                # What comes later is nearer to where it is decided.
                place = chance.choice((place, len(frames) - 1))
                frames[place] = mutated(chance, bytearray(frames[place]), all_frames)
