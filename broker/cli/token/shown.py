"""Tokens as they are shown, without their secrets; and how arguments name them."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING, Any

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.broker.cli.arguments.moments import moment_text
from odradek.broker.cli.arguments.refusals import Refused, refuse
from odradek.protocol.errors import ErrorCode
from odradek.terminal.table import table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.client.cluster import Cluster
    from odradek.client.delegation_tokens import Principal, Token

_HINTS: dict[Any, str] = {
    ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED: "Log in, and not by a token:"
    " --command-config FILE, for a listener with SASL.",
    ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED: "Give the broker a"
    " delegation.token.secret.key.",
}
_HEAD = ("TOKEN", "OWNER", "RENEWERS", "EXPIRES", "MAX")
# What logs in with a token is 64 bytes in base64; an id is a quarter as long.
_SECRET = re.compile(r"[A-Za-z0-9+/]{86}(==)?", re.ASCII)


def principal(text: str) -> Principal:
    """``User:alice``, or just alice; for ``type=``."""
    kind, colon, name = text.partition(":")
    if not colon:
        kind, name = "User", text
    if not (kind and name):
        raise argparse.ArgumentTypeError(f"{text!r} is no user; write it User:alice")
    return kind, name


def refused(command: str, error: Exception, token_id: str = "") -> int:
    """Say why something was refused, and what to do about it; the exit code.

    A secret that was given as an id is not repeated: what is said may be logged.
    """
    code = getattr(error, "code", None)
    what = "" if _SECRET.fullmatch(token_id) else token_id
    return refuse(command, error, what, hint=_HINTS.get(code, ""))


def show(tokens: Sequence[Token], is_json: bool) -> None:
    """Print them; nothing where there are none."""
    if is_json:
        for token in tokens:
            print_json(row_of(token))
    elif tokens:
        rows = [
            (
                token.token_id,
                token.owner,
                ",".join(token.renewers),
                moment_text(token.expiry_ms),
                moment_text(token.max_ms),
            )
            for token in tokens
        ]
        print("\n".join(table(_HEAD, rows)))


def row_of(token: Token) -> dict[str, Any]:
    """A token for JSON."""
    shown = token._asdict()
    shown["token"] = shown.pop("token_id")
    del shown["hmac"]
    return shown


def find(cluster: Cluster, token_id: str) -> Token:
    """The token with this id.

    Raises:
        Refused: we see none, or this is no id.
        KafkaError: the broker does not say.
    """
    from odradek.client.delegation_tokens import describe_tokens

    if _SECRET.fullmatch(token_id):
        raise Refused(
            "this is what logs in with a token, and others can read it on a command"
            " line; name the token by its id, which odradek token list shows"
        )
    for token in describe_tokens(cluster):
        if token.token_id == token_id:
            return token
    raise Refused(
        "there is no such token, or we may not see it; odradek token list shows others",
        what=token_id,
        name="DELEGATION_TOKEN_NOT_FOUND",
    )
