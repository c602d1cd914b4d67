"""Users of SCRAM, by the admin socket: whoever runs the broker needs no listener.

``users`` (``user``, if not all): an item for each user, with its credentials.
``set-user`` (``user``, ``mechanism``, ``iterations``, and as base64 ``salt`` and
``saltedPassword``): a credential, from which nobody gets the password back.
``remove-user`` (``user``, ``mechanism``): a credential is forgotten.

What is refused has the name of Kafka's error for a word.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any

from odradek.protocol.errors import ErrorCode, KafkaError

from .admin_socket import AdminError

if TYPE_CHECKING:
    from odradek.broker.handlers.security.scram import Change
    from odradek.broker.requests.services import Services

    from .admin_socket import AdminRequest, Items, Request

_CREDENTIAL = ("user", "mechanism")
_HASHED = (*_CREDENTIAL, "iterations", "salt", "saltedPassword")


def user_requests(services: Services) -> dict[str, AdminRequest]:
    """What answers each request, by its name."""

    async def users(request: Request) -> Items:
        if not request.keys() <= {"user"}:
            raise AdminError("malformed", "users takes user, and nothing else")
        credentials = services.credentials
        wanted = request.get("user")
        for name in [wanted] if wanted is not None else sorted(credentials.users()):
            known = credentials.of(str(name))
            yield {
                "user": name,
                "credentials": [
                    {"mechanism": mechanism.title, "iterations": each.iterations}
                    for mechanism, each in known.items()
                ],
            }

    async def set_user(request: Request) -> Items:
        from odradek.protocol.messages.scram import ScramCredentialUpsertion

        _check_names(request, _HASHED)
        change = ScramCredentialUpsertion(
            name=_text(request, "user"),
            mechanism=_mechanism(request),
            iterations=_number(request, "iterations"),
            salt=_bytes(request, "salt"),
            salted_password=_bytes(request, "saltedPassword"),
        )
        await _change(services, change)
        yield {"user": change.name}

    async def remove_user(request: Request) -> Items:
        from odradek.protocol.messages.scram import ScramCredentialDeletion

        _check_names(request, _CREDENTIAL)
        change = ScramCredentialDeletion(
            name=_text(request, "user"), mechanism=_mechanism(request)
        )
        await _change(services, change)
        yield {"user": change.name}

    return {"users": users, "set-user": set_user, "remove-user": remove_user}


async def _change(services: Services, change: Change) -> None:
    from odradek.broker.handlers.security.scram import alter_credential, check_change
    from odradek.broker.requests.audit import note_of_operator
    from odradek.protocol.messages.scram import (
        AlterUserScramCredentialsRequest,
        ScramCredentialDeletion,
    )

    if isinstance(change, ScramCredentialDeletion):
        told = AlterUserScramCredentialsRequest(deletions=[change])
    else:
        told = AlterUserScramCredentialsRequest(upsertions=[change])
    try:
        check_change(change)
        await alter_credential(services.credentials, change)
    except KafkaError as error:
        note_of_operator(told, error)
        raise AdminError(ErrorCode(error.code).name, str(error)) from None
    note_of_operator(told, None)


def _check_names(request: Request, wanted: tuple[str, ...]) -> None:
    if request.keys() != set(wanted):
        raise AdminError("malformed", f"it takes {', '.join(wanted)}, and all of them")


def _text(request: Request, name: str) -> str:
    value: Any = request[name]
    if not isinstance(value, str):
        raise AdminError("malformed", f"{name} must be a text")
    return value


def _number(request: Request, name: str) -> int:
    value: Any = request[name]
    if not isinstance(value, int) or isinstance(value, bool) or value >= 1 << 31:
        raise AdminError("malformed", f"{name} must be a whole number")
    return value


def _bytes(request: Request, name: str) -> bytes:
    try:
        return b64decode(_text(request, name), validate=True)
    except ValueError:
        raise AdminError("malformed", f"{name} must be base64") from None


def _mechanism(request: Request) -> int:
    from odradek.protocol.scram import Mechanism

    text = _text(request, "mechanism")
    for each in Mechanism:
        if each.title == text:
            return int(each)
    names = ", ".join(each.title for each in Mechanism)
    raise AdminError("malformed", f"mechanism must be one of {names}")
