"""The credentials of users for SCRAM (RFC 5802): never a password, only its keys.

What a client sends is salted and hashed already; of that the two keys are kept with
which a login can be checked, and which cannot be used to log in.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.scram import Mechanism, stored_and_server_key

from .resource_options import Resource, ResourceKind

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .resource_options import ResourceOptions


ITERATIONS_MAX = 16384


class ScramCredential(NamedTuple):
    """What a login is checked with."""

    iterations: int
    salt: bytes
    stored_key: bytes
    server_key: bytes

    @classmethod
    def of(
        cls, mechanism: Mechanism, iterations: int, salt: bytes, salted_password: bytes
    ) -> ScramCredential:
        """The credential of a password that was salted and hashed by the client."""
        keys = stored_and_server_key(salted_password, mechanism.algorithm)
        return cls(iterations, salt, *keys)

    @classmethod
    def read(cls, text: str) -> ScramCredential:
        """The credential as the catalogue has it."""
        import json  # not before somebody has a password

        found = json.loads(text)
        keys = [b64decode(found[name]) for name in ("salt", "stored_key", "server_key")]
        return cls(int(found["iterations"]), *keys)

    def __str__(self) -> str:
        """As the catalogue has it."""
        import json

        return json.dumps(
            {
                "iterations": self.iterations,
                "salt": b64encode(self.salt).decode(),
                "stored_key": b64encode(self.stored_key).decode(),
                "server_key": b64encode(self.server_key).decode(),
            }
        )


class ScramCredentials:
    """The credentials of every user."""

    def __init__(self, resources: ResourceOptions) -> None:
        self._resources = resources
        # Those of users who have logged in since they were changed last.
        self._read: dict[str, dict[Mechanism, ScramCredential]] = {}
        resources.watch(self._forget)

    def users(self) -> list[str]:
        """Who has a credential."""
        return [name for name, _ in self._resources.all_of(ResourceKind.SCRAM)]

    def of(self, user: str) -> dict[Mechanism, ScramCredential]:
        """A user's credentials, by mechanism; not to be changed."""
        found = self._read.get(user)
        if found is None:
            stored = self._resources.of(Resource(ResourceKind.SCRAM, user))
            found = {
                mechanism: ScramCredential.read(stored[mechanism.title])
                for mechanism in Mechanism
                if mechanism.title in stored
            }
            if found:  # strangers may ask for any name
                self._read[user] = found
        return found

    def _forget(self, changed: Resource) -> None:
        if changed.kind == ResourceKind.SCRAM:
            self._read.pop(changed.name, None)

    async def put(
        self, user: str, mechanism: Mechanism, credential: ScramCredential | None
    ) -> None:
        """Store a credential; None deletes it."""

        def decide(options: Mapping[str, str]) -> dict[str, str]:
            after = {name: x for name, x in options.items() if name != mechanism.title}
            if credential is not None:
                after[mechanism.title] = str(credential)
            return after

        await self._resources.alter(Resource(ResourceKind.SCRAM, user), decide)
