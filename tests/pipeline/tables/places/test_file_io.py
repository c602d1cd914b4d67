"""Files of Iceberg as objects."""

import pickle

import pytest

from odradek.pipeline.tables.places.file_io import ObjectsFileIO
from tests.fakes.stored_objects import LOST, Fault, ObjectServer

URL = "s3://lake/t/a"


def written(content: bytes, *, overwrite: bool = False) -> None:
    with ObjectsFileIO().new_output(URL).create(overwrite=overwrite) as stream:
        stream.write(content)


def test_written_and_read(server: ObjectServer) -> None:
    files = pickle.loads(pickle.dumps(ObjectsFileIO()))
    assert not files.new_input(URL).exists()
    written(b"one")
    found = files.new_input(URL)
    assert (found.exists(), len(found)) == (True, 3)
    for seekable in (True, False):
        with found.open(seekable) as stream:
            assert stream.read() == b"one"
    output = files.new_output(URL)
    assert output.exists()
    assert (len(output), output.to_input_file().location) == (3, URL)
    files.delete(found)
    assert server.names() == []


def test_what_is_there_is_kept_unless_it_may_go(server: ObjectServer) -> None:
    written(b"one")
    with pytest.raises(FileExistsError):
        written(b"two")
    assert server.content("t/a") == b"one"
    written(b"two", overwrite=True)
    assert server.content("t/a") == b"two"


def test_what_is_not_whole_is_not_put(server: ObjectServer) -> None:
    stream = ObjectsFileIO().new_output(URL).create()
    stream.write(b"half")
    with pytest.raises(ZeroDivisionError), stream:
        raise ZeroDivisionError
    stream = ObjectsFileIO().new_output(URL).create()
    stream.write(b"half")
    del stream
    assert server.names() == []


def test_names_that_other_writers_give(server: ObjectServer) -> None:
    """The files of a table that is divided say their partition."""
    url = "s3://lake/t/kind=a%2Fb/x 1.parquet"
    with ObjectsFileIO().new_output(url).create() as stream:
        stream.write(b"one")
    assert server.content("t/kind=a%2Fb/x 1.parquet") == b"one"
    assert ObjectsFileIO().new_input(url).open().read() == b"one"


def test_lost_answer(server: ObjectServer) -> None:
    server.fail(Fault(LOST, "PUT", "", 2))
    written(b"one")
    assert server.content("t/a") == b"one"
