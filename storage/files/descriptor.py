"""A number that the operating system knows an open file by, and its owner."""

import os
from contextlib import suppress


class Descriptor:
    """An open descriptor that closes with its last holder."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        with suppress(OSError):  # what had to reach the disk was synced before
            os.close(self.number)
