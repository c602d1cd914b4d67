"""What the options ``sasl.*`` mean: by which mechanism to log in, and as whom."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from odradek.protocol.jaas import JaasError, parse_jaas
from odradek.terminal.spelling import did_you_mean

from . import names
from .names import SecurityOptionError
from .settings import MECHANISMS, OAUTHBEARER, PLAIN, SCRAM, OAuth, Pem, Sasl, Secret
from .tls_options import read_pem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.protocol.jaas import LoginModule

LOOPBACK = ("localhost", "127.0.0.1", "::1")
# The class in Java that logs in by each mechanism, without its package.
_MODULES = {
    "PlainLoginModule": (PLAIN,),
    "ScramLoginModule": SCRAM,
    "OAuthBearerLoginModule": (OAUTHBEARER,),
}
_MODULE_OPTIONS = ("username", "password", "tokenauth")
_NEAR = 0.8  # of others, like serviceName, Java has more
_HANDLER = "OAuthBearerLoginCallbackHandler"
_RETRIEVERS = (
    "DefaultJwtRetriever",
    "FileJwtRetriever",
    "ClientCredentialsJwtRetriever",
)


def read_sasl(options: Mapping[str, str]) -> Sasl:
    """The login that the options describe.

    Raises:
        SecurityOptionError: something is missing, or they contradict.
    """
    mechanism = _mechanism(options)
    module = _module(options, mechanism)
    if mechanism == OAUTHBEARER:
        return Sasl(mechanism, oauth=_oauth(options, module))
    given = dict(module.options) if module else {}
    _check_spelling(given)
    user = given.get("username", options.get(names.USER, ""))
    password = given.get("password", options.get(names.PASSWORD, ""))
    if not (user and password):
        missing = names.PASSWORD if user else names.USER
        raise SecurityOptionError(
            missing, f'is missing; set it, or username="..." in {names.JAAS}'
        )
    if "\0" in user + password:
        raise SecurityOptionError(names.PASSWORD, "has a NUL in it")
    is_token = given.get("tokenauth", "").lower() == "true"
    if is_token and mechanism == PLAIN:
        raise SecurityOptionError(names.JAAS, "delegation tokens log in by SCRAM")
    return Sasl(mechanism, user, Secret(password), is_token)


def _mechanism(options: Mapping[str, str]) -> str:
    text = options.get(names.MECHANISM, "GSSAPI")
    known = ", ".join(MECHANISMS)
    if names.MECHANISM not in options:
        raise SecurityOptionError(
            names.MECHANISM, f"is missing (by default GSSAPI); there are {known}"
        )
    if text.upper() not in MECHANISMS:
        meant = did_you_mean(text.upper(), MECHANISMS)
        hint = f"; did you mean {meant}?" if meant else ""
        raise SecurityOptionError(
            names.MECHANISM, f"is one of {known}, and not {text!r}{hint}"
        )
    return text.upper()


def _module(options: Mapping[str, str], mechanism: str) -> LoginModule | None:
    if names.JAAS not in options:
        return None
    for other in (names.USER, names.PASSWORD):
        if other in options:
            raise SecurityOptionError(other, f"is set, and {names.JAAS} too; leave one")
    try:
        module, *more = parse_jaas(options[names.JAAS])
    except JaasError as error:
        raise SecurityOptionError(names.JAAS, str(error)) from None
    if more:
        raise SecurityOptionError(names.JAAS, "names several modules; a client has one")
    fitting = _MODULES.get(module.simple_name)
    if fitting is None or mechanism not in fitting:
        wanted = next(name for name, of in _MODULES.items() if mechanism in of)
        raise SecurityOptionError(
            names.JAAS,
            f"has a {module.simple_name}, and {names.MECHANISM}={mechanism} needs a"
            f" {wanted}",
        )
    return module


def _check_spelling(given: Mapping[str, str]) -> None:
    """Java ignores what it does not know; what is misspelt would log in as another."""
    for name in given:
        if name in _MODULE_OPTIONS or name.startswith("user_"):
            continue
        meant = did_you_mean(name, _MODULE_OPTIONS, _NEAR)
        if meant:
            raise SecurityOptionError(
                names.JAAS, f"has the option {name!r}; did you mean {meant}?"
            )


def _oauth(options: Mapping[str, str], module: LoginModule | None) -> OAuth:
    _check_classes(options)
    given = dict(module.options) if module else {}
    if any(name.startswith("unsecuredLogin") for name in given):
        reason = "unsecured tokens, which nobody has signed, are not made here"
        raise SecurityOptionError(names.JAAS, reason)
    endpoint = options.get(names.ENDPOINT, "")
    token_file = os.path.expanduser(options.get(names.TOKEN_FILE, ""))
    if endpoint.startswith("file:"):
        token_file, endpoint = unquote(urlsplit(endpoint).path), ""
    command = options.get(names.TOKEN_COMMAND, "")
    if sum(map(bool, (endpoint, token_file, command))) != 1:
        raise SecurityOptionError(
            names.ENDPOINT,
            "says where tokens come from: a URL of https, or of file; or set"
            f" {names.TOKEN_FILE} or {names.TOKEN_COMMAND}, one of these",
        )
    client_id = given.get("clientId") or _one(options, names.CLIENT_IDS)
    secret = given.get("clientSecret") or _one(options, names.CLIENT_SECRETS)
    if endpoint:
        _check_url(endpoint)
        for name, value in (
            (names.CLIENT_IDS[0], client_id),
            (names.CLIENT_SECRETS[0], secret),
        ):
            if not value:
                raise SecurityOptionError(name, "is missing")
    return OAuth(
        token_file,
        command,
        endpoint,
        client_id,
        Secret(secret),
        given.get("scope") or options.get(names.SCOPE, ""),
        _https(options),
        _extensions(options, given),
    )


def _check_classes(options: Mapping[str, str]) -> None:
    for name, known in (
        (names.LOGIN_HANDLER, (_HANDLER,)),
        (names.RETRIEVER, _RETRIEVERS),
    ):
        text = options.get(name, known[0])
        if text.rpartition(".")[2] not in known:
            raise SecurityOptionError(
                name, f"a class of Java, of which {' and '.join(known)} are known here"
            )
    method = options.get(names.METHOD, "oidc")
    if method not in ("oidc", "default"):
        raise SecurityOptionError(names.METHOD, f"is oidc, and not {method!r}")


def _check_url(url: str) -> None:
    parts = urlsplit(url)
    if parts.username or parts.password:
        raise SecurityOptionError(names.ENDPOINT, "has a user or password in it")
    is_near = parts.scheme == "http" and parts.hostname in LOOPBACK
    if not parts.hostname or not (parts.scheme == "https" or is_near):
        raise SecurityOptionError(
            names.ENDPOINT, "is a URL of https (of http on this machine only), or file"
        )


def _one(options: Mapping[str, str], wanted: Sequence[str]) -> str:
    return next((options[name] for name in wanted if name in options), "")


def _https(options: Mapping[str, str]) -> Pem:
    if names.HTTPS_FILE in options:
        return read_pem(names.HTTPS_FILE, options[names.HTTPS_FILE])
    return Pem(Secret(options.get(names.HTTPS_TEXT, "").replace("\\n", "\n")))


def _extensions(
    options: Mapping[str, str], given: Mapping[str, str]
) -> tuple[tuple[str, str], ...]:
    found = {
        name.removeprefix("extension_"): value
        for name, value in given.items()
        if name.startswith("extension_")
    }
    for part in filter(None, options.get(names.EXTENSIONS, "").split(",")):
        name, equals, value = part.partition("=")
        if not equals:
            raise SecurityOptionError(names.EXTENSIONS, "is like key=value,key=value")
        found[name.strip()] = value.strip()
    for name in found:
        if not (name.isascii() and name.isalpha()) or name == "auth":
            raise SecurityOptionError(names.EXTENSIONS, f"{name!r} is no name of one")
    return tuple(found.items())
