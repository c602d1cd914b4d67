"""Messages between a broker and the process that cleans: pickles with a length."""

import pickle
from struct import Struct
from typing import Any, BinaryIO

LENGTH = Struct(">I")


def framed(message: Any) -> bytes:
    """A message as it travels."""
    data = pickle.dumps(message)
    return LENGTH.pack(len(data)) + data


def send(target: BinaryIO, message: Any) -> None:
    """Write a message."""
    target.write(framed(message))
    target.flush()


def receive(source: BinaryIO) -> Any:
    """Read a message."""
    (size,) = LENGTH.unpack(source.read(LENGTH.size))
    return pickle.loads(source.read(size))
