"""What pyiceberg reads and writes the files of a table with, where it is in a store.

It asks through `odradek.objects`, as all of a job does: the same credentials, the same
tries, the same errors. What is written is put when it is whole; nothing of it is there
when its writer fails.
"""

from __future__ import annotations

import io
import tempfile
from typing import TYPE_CHECKING, Any

from pyiceberg.io import FileIO, InputFile, InputStream, OutputFile, OutputStream

from odradek.objects.errors import NoSuchObject
from odradek.objects.location import location_of_object
from odradek.objects.opening import open_store, read_settings
from odradek.objects.reading import open_object

from .catalogs import PREFIX

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from odradek.objects.store import ObjectStore

_IN_MEMORY = 8 << 20


class ObjectsFileIO(FileIO):
    """Files of Iceberg as objects."""

    def __init__(self, properties: Mapping[str, str] | None = None) -> None:
        super().__init__(dict(properties or {}))
        self._options = {
            name.removeprefix(PREFIX): text
            for name, text in self.properties.items()
            if name.startswith(PREFIX)
        }
        self._stores: dict[tuple[str, str], ObjectStore] = {}

    def new_input(self, location: str) -> InputFile:
        """A file to read."""
        return _Input(location, *self._found(location))

    def new_output(self, location: str) -> OutputFile:
        """A file to write."""
        return _Output(location, *self._found(location))

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Remove a file, if it is there."""
        path = location if isinstance(location, str) else location.location
        store, name = self._found(path)
        store.delete([name])

    def _found(self, url: str) -> tuple[ObjectStore, str]:
        location = location_of_object(url)
        place = location.scheme, location.bucket
        store = self._stores.get(place)
        if store is None:
            # Several threads may come here: then one store more is opened.
            store = self._stores[place] = open_store(
                read_settings(location, self._options)
            )
        return store, location.path

    def __getstate__(self) -> dict[str, Any]:
        return {"properties": self.properties}

    def __setstate__(self, state: dict[str, Any]) -> None:
        ObjectsFileIO.__init__(self, state["properties"])


class _Input(InputFile):
    def __init__(self, location: str, store: ObjectStore, name: str) -> None:
        super().__init__(location)
        self._store = store
        self._name = name

    def __len__(self) -> int:
        return self._store.head(self._name).size

    def exists(self) -> bool:
        try:
            self._store.head(self._name)
        except NoSuchObject:
            return False
        return True

    def open(self, seekable: bool = True) -> InputStream:
        if seekable:
            return open_object(self._store, self._name)
        return io.BytesIO(self._store.get(self._name))


class _Output(OutputFile):
    def __init__(self, location: str, store: ObjectStore, name: str) -> None:
        super().__init__(location)
        self._store = store
        self._name = name

    def __len__(self) -> int:
        return self._store.head(self._name).size

    def exists(self) -> bool:
        return self.to_input_file().exists()

    def to_input_file(self) -> InputFile:
        return _Input(self.location, self._store, self._name)

    def create(self, overwrite: bool = False) -> OutputStream:
        made: Any = _Upload(self._store, self._name, overwrite)
        stream: OutputStream = made
        return stream


class _Upload(io.RawIOBase):
    """Bytes that become an object when they are all there."""

    def __init__(self, store: ObjectStore, name: str, overwrite: bool) -> None:
        super().__init__()
        self._store = store
        self._name = name
        self._overwrite = overwrite
        self._file: Any = tempfile.SpooledTemporaryFile(_IN_MEMORY)  # noqa: SIM115

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return int(self._file.write(data))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if self.closed:
            return
        try:
            self._put()
        finally:
            self._file.close()
            super().close()

    def _put(self) -> None:
        if self._file.closed:
            return
        if self._overwrite:
            self._store.put_file(self._name, self._file)
            return
        self._file.seek(0)
        if not self._store.put_if_absent(self._name, self._file.read()):
            raise FileExistsError(self._name)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if kind is not None:
            self._file.close()  # what is not whole is not put
        self.close()

    def __del__(self) -> None:
        self._file.close()  # nobody has closed it: it is not whole
        super().__del__()
