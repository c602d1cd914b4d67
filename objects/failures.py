"""What a store, or a library that asks it, has raised, in our words.

Libraries put the whole request and answer into their errors, with identifiers of keys
and signatures. Of these texts nothing is kept but a status and the name of an error.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .errors import NoSuchObject, StoreAway, StoreError, StoreRefused

if TYPE_CHECKING:
    from .settings import StoreSettings

_STATUS = re.compile(r"status(?: code)?:? (\d{3})|\b([45]\d\d) [A-Z][a-z]+")
_CODE = re.compile(r"<Code>(\w{1,60})</Code>|\"reason\": ?\"(\w{1,60})\"")
_AWAY_STATUSES = (408, 409, 425, 429, 500, 502, 503, 504)
# In the texts of the libraries, when there was no whole answer.
_NO_ANSWER = (
    *("error sending request", "connection closed", "connection reset", "timed out"),
    *("connection refused", "broken pipe", "dns error", "incomplete message"),
    *("error decoding response body", "end of file before message", "IncompleteBody"),
    *("unexpected EOF", "HTTP error", "tcp connect error"),
)
# Instances have credentials at an address that is asked when nothing else has any.
_OF_MACHINE = re.compile(r"//169\.254\.169\.254|//metadata\.google\.internal")
_NO_CREDENTIALS = re.compile(
    r"instance metadata|get AWS credentials|CredentialsNotLoaded|missing credential|"
    r"no providers in chain|MissingCredential|token request|the credential provider|"
    r"No such file.*credentials",
    re.IGNORECASE,
)
_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired")
_SKEWED = ("RequestTimeTooSkewed", "RequestExpired")
_WRONG_KEY = (
    *("InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken"),
    *("AuthenticationFailed", "InvalidAuthenticationInfo", "authError"),
    *("InvalidSecurity", "UnrecognizedClientException"),
)
_NO_BUCKET = ("NoSuchBucket", "ContainerNotFound")
_OTHER_REGION = (
    *("PermanentRedirect", "AuthorizationHeaderMalformed", "IllegalLocation"),
    *("TemporaryRedirect", "InvalidRegion"),
)
_OTHER_STORE = {
    "s3": "; if another store is meant, name it (option endpoint, AWS_ENDPOINT_URL)",
    "az": "; if another store is meant, name it (options endpoint and account)",
}
# How the libraries begin.
_OF_STORE = re.compile(
    r"Generic \w+ error|Generic (S3|GCS|MicrosoftAzure|HTTP)|Error performing|"
    r"Object at location|ObjectStoreError|object store|credentials?\b",
    re.IGNORECASE,
)
_UNABLE = ("NotImplemented", "UnsupportedHeader")


def failure_of(error: BaseException, settings: StoreSettings) -> StoreError:
    """The error to raise in the place of a library's; without its text."""
    if isinstance(error, StoreError):
        return error
    text = str(error)
    status, code = _status_of(text), _code_of(text)
    where = f"{settings.location.bucket} at {settings.host}"
    if code in _NO_BUCKET:
        return StoreRefused(
            f"there is no {settings.word_for_bucket} {where}; create it, or mend the"
            " URL"
        )
    if refused := _refused(status, code, text, settings):
        return refused
    if isinstance(error, FileNotFoundError) or status == 404:
        return NoSuchObject(f"there is no such object in {where}")
    if status in _AWAY_STATUSES or (not status and _has_no_answer(text)):
        said = f"{status} {code}".strip() if status else "nothing"
        return StoreAway(
            f"the store {settings.host} answers {said} to who asks for"
            f" {settings.location}, however often: run this again when it does answer"
            f"{_OTHER_STORE.get(settings.scheme, '')}"
        )
    said = f"{status} {code}".strip() if status else type(error).__name__
    return StoreRefused(
        f"the store {settings.host} refuses what it is asked for {settings.location}:"
        f" {said}"
    )


def is_of_store(error: BaseException) -> bool:
    """Whether a library that does other things, too, tells of its store."""
    return isinstance(error, FileNotFoundError) or bool(_OF_STORE.search(str(error)))


def _status_of(text: str) -> int:
    found = _STATUS.search(text)
    return int(found[1] or found[2]) if found else 0


def _code_of(text: str) -> str:
    found = _CODE.search(text)
    return (found[1] or found[2] or "") if found else ""


def _has_no_answer(text: str) -> bool:
    lowered = text.lower()
    return any(words.lower() in lowered for words in _NO_ANSWER)


def _refused(
    status: int, code: str, text: str, settings: StoreSettings
) -> StoreRefused | None:
    """What another try does not mend."""
    host, remedy = settings.host, settings.remedy
    if _OF_MACHINE.search(text) or (not code and _NO_CREDENTIALS.search(text)):
        said = f"there are no credentials for {host} on this machine: {remedy}"
    elif code in _EXPIRED:
        said = f"the credentials for {host} have expired; renew them: {remedy}"
    elif code in _SKEWED:
        said = f"{host} says that the clock of this machine is wrong; set it"
    elif code in _OTHER_REGION or status in (301, 307):
        said = (
            f"the bucket {settings.location.bucket} is not in the region that {host} is"
            " of: name its own, with the option region or AWS_REGION"
        )
    elif code in _UNABLE or status == 501:
        said = (
            f"{host} cannot do what a table needs ({code or status}): it must write an"
            " object on the condition that there is none (If-None-Match)"
        )
    elif code in _WRONG_KEY or status == 401:
        said = f"{host} does not accept the credentials ({code or status}): {remedy}"
    elif status == 403:
        said = (
            f"{host} does not let these credentials read and write"
            f" {settings.location} ({code or status}): give them that right, or give"
            f" others: {remedy}"
        )
    else:
        return None
    return StoreRefused(said)
