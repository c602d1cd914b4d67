"""One session for all the commands that run in this process."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class SharedSpark:
    """The session of all tests, in the place of one for a command."""

    shared: "SparkSession"

    def __init__(self, name: str, master: str | None, conf: object) -> None:
        self.name = name

    def session(self) -> "SparkSession":
        return self.shared

    def __enter__(self) -> "SharedSpark":
        return self

    def __exit__(self, *_: object) -> None:
        pass
