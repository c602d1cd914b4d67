"""Users who log in, without a client.

``users.set`` (``users``: passwords by names; null: no such user any more): an item for
each. They may log in by SCRAM, and by PLAIN where nothing else says who may.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Final

from odradek.broker.metadata.scram_credentials import ScramCredential
from odradek.protocol.errors import KafkaError
from odradek.protocol.scram import ITERATIONS_MIN, Mechanism, salted

from .fields import Fields, refusal, refused_by

if TYPE_CHECKING:
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request
    from odradek.broker.requests.services import Services

_SALT_SIZE: Final = 16


def user_requests(services: Services) -> dict[str, AdminRequest]:
    """What answers it."""

    async def set_users(request: Request) -> Items:
        fields = Fields(request)
        users = fields.mapping("users")
        fields.end()
        for name, password in users.items():
            _check(name, password)
        for name, password in users.items():
            for mechanism in Mechanism:
                try:
                    credential = _credential(mechanism, password)
                    await services.credentials.put(name, mechanism, credential)
                except KafkaError as error:
                    raise refused_by(error) from None
            yield {"user": name}

    return {"users.set": set_users}


def _check(name: str, password: Any) -> None:
    if not name:
        raise refusal("a user has no name")
    if password is not None and not (isinstance(password, str) and password):
        raise refusal(f"the password of {name!r} is a text that is not empty, or null")


def _credential(mechanism: Mechanism, password: str | None) -> ScramCredential | None:
    if password is None:
        return None
    salt = os.urandom(_SALT_SIZE)
    hashed = salted(password.encode(), salt, ITERATIONS_MIN, mechanism.algorithm)
    return ScramCredential.of(mechanism, ITERATIONS_MIN, salt, hashed)
