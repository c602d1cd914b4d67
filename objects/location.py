"""Where objects are: a scheme, a bucket, and the beginning of their names.

Names of tables have letters, digits and ``. _ - =`` between slashes, and nothing else,
so that a URL says a name as it is, to whichever library. Names of objects below them
may have other characters: they are taken as they are, without an escape undone.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SCHEMES = ("s3", "gs", "az")
_WHAT_ELSE = {
    **dict.fromkeys(("s3a", "s3n"), "s3"),
    **dict.fromkeys(("gcs", "gcsfs"), "gs"),
    **dict.fromkeys(("abfs", "abfss", "wasb", "wasbs", "azure", "adl"), "az"),
}
# Of these a URL has the same parts; other tools write them into their tables.
_SAME_SHAPE = {"s3a": "s3", "s3n": "s3", "gcs": "gs"}
_URL = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://(.*)", re.DOTALL)
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_PART = re.compile(r"[A-Za-z0-9._=-]+")


@dataclass(frozen=True)
class ObjectLocation:
    """A folder of a bucket, as one may call it; ``path`` has no slash at its ends."""

    scheme: str
    bucket: str
    path: str

    def __str__(self) -> str:
        return f"{self.scheme}://{self.bucket}/{self.path}"

    @property
    def name(self) -> str:
        """The last part."""
        return self.path.rpartition("/")[2]

    def child(self, *parts: str) -> ObjectLocation:
        """What is below."""
        path = "/".join((self.path, *filter(None, parts)))
        return ObjectLocation(self.scheme, self.bucket, path)


def is_object_url(text: str) -> bool:
    """Whether a text names a place in a store, rightly or not."""
    found = _URL.match(text)
    return found is not None and (found[1] in SCHEMES or found[1] in _WHAT_ELSE)


def location_of_object(url: str) -> ObjectLocation:
    """Where the object is that a table names by a URL, whatever its name is made of.

    Raises:
        ValueError: there is no such store.
    """
    found = _URL.fullmatch(url)
    scheme = _SAME_SHAPE.get(found[1], found[1]) if found else ""
    if found is None or scheme not in SCHEMES:
        raise ValueError(f"{url} is no object in a store")
    bucket, _, name = found[2].partition("/")
    return ObjectLocation(scheme, bucket, name)


def parse_location(text: str) -> ObjectLocation:
    """The place that a URL names.

    Raises:
        ValueError: it is none; says what to write.
    """
    found = _URL.fullmatch(text)
    scheme, rest = (found[1], found[2]) if found else ("", text)
    if scheme in _WHAT_ELSE:
        instead = _WHAT_ELSE[scheme]
        raise ValueError(
            f"{text}: {scheme}:// is a name that other tools have; write"
            f" {instead}://{'CONTAINER' if instead == 'az' else 'BUCKET'}/FOLDER"
        )
    if scheme not in SCHEMES:
        raise ValueError(
            f"{text} is no place in a store; there are s3://, gs://, az://"
        )
    bucket, _, path = rest.partition("/")
    path = path.rstrip("/")
    if not _BUCKET.fullmatch(bucket):
        raise ValueError(f"{text} names no bucket; write {scheme}://BUCKET/FOLDER")
    if not path:
        raise ValueError(
            f"{text} is a whole bucket; name a folder in it, like {scheme}://{bucket}/t"
        )
    for part in path.split("/"):
        if not _PART.fullmatch(part) or part in (".", ".."):
            raise ValueError(
                f"{text}: names in a store are made of letters, digits and . _ - =, "
                f"which {part!r} is not"
            )
    return ObjectLocation(scheme, bucket, path)
