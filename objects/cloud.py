"""A store of Amazon, Google or Microsoft, or one that answers like it, by obstore.

obstore is loaded with the first request. A request that fails is made again, here and
a few times in the library; errors are told in our words (`failures`).
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar

from .errors import NoSuchObject, StoreRefused
from .failures import failure_of
from .retries import Retries
from .store import ObjectInfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from .settings import StoreSettings

_Answer = TypeVar("_Answer")
_RETRY: Any = {"max_retries": 2}  # of the library, before ours
_TIMEOUT_S = 120
_CONNECT_TIMEOUT_S = 10
# A part of a large object, and how many are on their way: they are in memory.
_PART_SIZE = 8 << 20
_PARTS_AT_ONCE = 3


class CloudStore:
    """A bucket, or a container."""

    def __init__(self, settings: StoreSettings, retries: Retries | None = None) -> None:
        # Said here, and not when rows have been written.
        import obstore  # noqa: F401

        self.settings = settings
        self._retries = retries or Retries()
        self._opened: Any = None

    @property
    def host(self) -> str:
        """Who is asked, for messages."""
        return self.settings.host

    def put(self, name: str, content: bytes) -> None:
        """Write an object, over one that is there."""
        import obstore

        self._run(lambda store: obstore.put(store, name, content))

    def put_file(self, name: str, file: BinaryIO) -> int:
        """Write an object out of a whole file, and see that it is there; its size."""
        import obstore

        size = file.seek(0, 2)

        def put(store: Any) -> None:
            file.seek(0)
            obstore.put(
                store, name, file, chunk_size=_PART_SIZE, max_concurrency=_PARTS_AT_ONCE
            )

        self._run(put)
        there = self.head(name).size
        if there != size:
            raise StoreRefused(
                f"{self.host} has {there} bytes of {name}, of which {size} were sent:"
                " do not trust it"
            )
        return size

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """Whether the object is there with this content now, and was not before.

        An answer may be lost, and the library may ask again and be refused: what is
        there is compared.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def put(store: Any) -> bool:
            try:
                obstore.put(store, name, content, mode="create")
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

        while True:
            if self._run(put):
                return True
            try:
                return self.get(name) == content
            except NoSuchObject:
                continue  # it has been removed since

    def get(self, name: str) -> bytes:
        """A whole object.

        Raises:
            NoSuchObject: there is none.
        """
        import obstore

        return self._run(lambda store: bytes(obstore.get(store, name).bytes()))

    def get_range(self, name: str, start: int, size_max: int) -> bytes:
        """Some bytes; fewer at its end.

        Raises:
            NoSuchObject: there is none.
        """
        import obstore

        return self._run(
            lambda store: bytes(
                obstore.get_range(store, name, start=start, length=size_max)
            )
        )

    def head(self, name: str) -> ObjectInfo:
        """What there is to know of an object without reading it.

        Raises:
            NoSuchObject: there is none.
        """
        import obstore

        return _info(self._run(lambda store: obstore.head(store, name)))

    def list_all(self, folder: str) -> Iterator[ObjectInfo]:
        """All objects below a folder, in any order."""
        import obstore

        found = self._run(lambda store: obstore.list(store, folder).collect())
        return map(_info, found)

    def list_folder(self, folder: str) -> tuple[list[ObjectInfo], list[str]]:
        """The objects in a folder, and the names of the folders in it."""
        import obstore

        found = self._run(lambda store: obstore.list_with_delimiter(store, folder))
        names = [
            each.rstrip("/").rpartition("/")[2] for each in found["common_prefixes"]
        ]
        return [_info(each) for each in found["objects"]], names

    def copy(self, source: str, target: str) -> None:
        """Write an object again under another name, without reading it.

        Raises:
            NoSuchObject: there is none.
        """
        import obstore

        self._run(lambda store: obstore.copy(store, source, target))

    def delete(self, names: Iterable[str]) -> None:
        """Remove objects, as far as they are there."""
        import obstore

        def delete(name: str) -> None:
            with suppress(NoSuchObject):
                self._run(lambda store: obstore.delete(store, name))

        for name in names:
            delete(name)

    def _run(self, ask: Callable[[Any], _Answer]) -> _Answer:
        """The answer; what fails for a while is asked again."""
        return self._retries.run(lambda: self._ask(ask))

    def _ask(self, ask: Callable[[Any], _Answer]) -> _Answer:
        try:
            if self._opened is None:
                self._opened = open_cloud(self.settings)
            return ask(self._opened)
        except Exception as error:
            failure = failure_of(error, self.settings)
        if isinstance(failure, StoreRefused):
            self._opened = None  # whoever comes again has newer credentials
        raise failure from None


def open_cloud(settings: StoreSettings) -> Any:
    """obstore's own store for a bucket.

    Raises:
        StoreRefused: a profile has no credentials that can be had.
    """
    client: Any = {
        "timeout": timedelta(seconds=_TIMEOUT_S),
        "connect_timeout": timedelta(seconds=_CONNECT_TIMEOUT_S),
        "allow_http": settings.endpoint.startswith("http://"),
    }
    bucket = settings.location.bucket
    if settings.scheme == "gs":
        from obstore.store import GCSStore

        return GCSStore(bucket, retry_config=_RETRY)
    if settings.scheme == "az":
        from obstore.store import AzureStore

        config = _azure_config(settings)
        return AzureStore(
            bucket, config=config, client_options=client, retry_config=_RETRY
        )
    from obstore.store import S3Store

    return S3Store(
        bucket,
        config=_s3_config(settings),
        client_options=client,
        retry_config=_RETRY,
        credential_provider=_provider(settings),
    )


def _s3_config(settings: StoreSettings) -> Any:
    config = {"region": settings.region, "conditional_put": "etag"}
    if settings.endpoint:
        config["endpoint"] = settings.endpoint
    return config


def _azure_config(settings: StoreSettings) -> Any:
    found = settings.azure()
    if settings.account:
        found["account_name"] = settings.account
    if settings.endpoint:
        found["endpoint"] = settings.endpoint
    return found


def _provider(settings: StoreSettings) -> Any:
    """What is asked for the credentials of a profile; None without one."""
    if settings.aws_credentials() is None:
        return None

    def provide() -> dict[str, Any]:
        found = settings.aws_credentials()
        if found is None:
            raise StoreRefused(
                f"the AWS profile {settings.profile.name} has lost its credentials"
            )
        return {
            "access_key_id": found.key_id,
            "secret_access_key": found.secret,
            "token": found.token or None,
            "expires_at": found.expires,
        }

    return provide


def _info(found: Mapping[str, Any]) -> ObjectInfo:
    return ObjectInfo(
        found["path"],
        found["size"],
        str(found["e_tag"] or found["version"] or ""),
        found["last_modified"].timestamp(),
    )
