"""What turns the bytes of a key or value into something to show, and back."""

from __future__ import annotations

from typing import Protocol


class Codec(Protocol):
    """One format; a value that is null never gets here."""

    def decode(self, data: bytes) -> object:
        """What JSON can say of it: a text, a number, an object.

        Raises:
            ValueError: the bytes are not of this format.
            RegistryError: the registry that has the schema does not answer.
        """

    def encode(self, text: bytes) -> bytes:
        """The bytes of what somebody has written as text, or as JSON.

        Raises:
            ValueError: it is not what the format can say.
            RegistryError: as `decode`.
        """
