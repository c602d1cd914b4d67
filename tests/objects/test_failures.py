"""What libraries say of stores, in our words."""

import pytest

from odradek.objects.errors import NoSuchObject, StoreAway, StoreError, StoreRefused
from odradek.objects.failures import failure_of, is_of_store
from tests.objects.test_settings import settings

HERE = settings("s3://lake/t", {"endpoint": "https://minio:9000"})
BODY = "<Error><Code>{}</Code><AWSAccessKeyId>AKIASHOWN</AWSAccessKeyId></Error>"


def http(status: int, code: str = "") -> str:
    body = BODY.format(code) if code else ""
    return (
        "Generic S3 error: Error performing PUT https://minio:9000/lake/t in 3ms -"
        f" Server returned non-2xx status code: {status} Something: {body}"
    )


@pytest.mark.parametrize(
    ("text", "kind", "said"),
    [
        (http(503, "SlowDown"), StoreAway, "answers 503 SlowDown .*option endpoint"),
        (http(500), StoreAway, "answers 500"),
        (http(429), StoreAway, "answers 429"),
        ("Generic S3 error: error sending request for url", StoreAway, "nothing"),
        ("Generic S3 error: operation timed out", StoreAway, "nothing"),
        (http(404, "NoSuchKey"), NoSuchObject, "no such object"),
        (http(404, "NoSuchBucket"), StoreRefused, "there is no bucket lake"),
        (http(403, "AccessDenied"), StoreRefused, "give them that right"),
        (http(403, "InvalidAccessKeyId"), StoreRefused, "does not accept"),
        (http(401), StoreRefused, "does not accept"),
        (http(400, "ExpiredToken"), StoreRefused, "have expired; renew them"),
        (http(403, "RequestTimeTooSkewed"), StoreRefused, "the clock of this"),
        (http(301, "PermanentRedirect"), StoreRefused, "option region"),
        (http(501, "NotImplemented"), StoreRefused, "If-None-Match"),
        (http(400, "EntityTooSmall"), StoreRefused, "refuses .*EntityTooSmall"),
        (
            "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api"
            " in 2s: operation timed out",
            StoreRefused,
            "there are no credentials for minio:9000",
        ),
        (
            "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api"
            " in 2s - Server returned status code: 403 Forbidden",
            StoreRefused,
            "there are no credentials for minio:9000",
        ),
        ("what nobody has seen before", StoreRefused, "refuses .*RuntimeError"),
    ],
)
def test_failure_and_what_is_said(text: str, kind: type[StoreError], said: str) -> None:
    found = failure_of(RuntimeError(text), HERE)
    assert type(found) is kind
    import re

    assert re.search(said, str(found)), str(found)
    assert "minio:9000" in str(found)
    assert "AKIASHOWN" not in str(found)


def test_our_own_errors_stay() -> None:
    error = StoreRefused("said")
    assert failure_of(error, HERE) is error


def test_missing_file_is_a_missing_object() -> None:
    assert isinstance(failure_of(FileNotFoundError("x"), HERE), NoSuchObject)


def test_what_is_of_a_store() -> None:
    assert is_of_store(OSError(http(503)))
    assert not is_of_store(ValueError("a column is missing"))
