"""Credentials of users that there are not.

Who logs in as nobody is asked for a password like everybody else, with a salt that is
always the same for this name and that nobody can tell from a true one. So the answers
do not say which users there are; Apache Kafka's do.
"""

from __future__ import annotations

import hmac
import secrets
from typing import TYPE_CHECKING

from odradek.broker.metadata.scram_credentials import ScramCredential
from odradek.protocol.scram import ITERATIONS_MIN

if TYPE_CHECKING:
    from odradek.protocol.scram import Mechanism

SALT_SIZE = 24  # as `odradek user set` has it


class Decoy:
    """Makes them of ``secret``, which stays the same and which nobody gets to see."""

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def salt(self, name: str, mechanism: Mechanism) -> bytes:
        """The salt of this name."""
        text = f"{mechanism.title}\0{name}".encode()
        return hmac.digest(self._secret, text, "sha256")[:SALT_SIZE]

    def credential(self, name: str, mechanism: Mechanism) -> ScramCredential:
        """A credential that no password fits."""
        size = 32 if mechanism.algorithm == "sha256" else 64
        keys = secrets.token_bytes(size), secrets.token_bytes(size)
        return ScramCredential(ITERATIONS_MIN, self.salt(name, mechanism), *keys)
