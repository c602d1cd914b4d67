"""Messages between a broker and the process that cleans: pickles with a length.

A broker may never clean anything: pickle is loaded with the first message.
"""

from struct import Struct
from typing import IO, Any

LENGTH = Struct(">I")


def send(target: IO[bytes], message: Any) -> None:
    """Write a message."""
    import pickle

    data = pickle.dumps(message)
    target.write(LENGTH.pack(len(data)) + data)
    target.flush()


def receive(source: IO[bytes]) -> Any:
    """Read a message.

    Raises:
        EOFError: there is none, or not all of it.
    """
    length = source.read(LENGTH.size)
    if len(length) < LENGTH.size:
        raise EOFError
    (size,) = LENGTH.unpack(length)
    message = source.read(size)
    if len(message) < size:
        raise EOFError
    return loaded(message)


def loaded(message: bytes) -> Any:
    """What a message is, without its length."""
    import pickle

    return pickle.loads(message)
