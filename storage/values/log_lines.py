"""What is said of one log: every line begins with its partition and log directory.

Lines that are written as JSON have both as fields of their own, too.
"""

import logging
from pathlib import Path
from typing import NamedTuple


class LogLines(NamedTuple):
    """Writes lines to ``logger`` about the log in ``directory``."""

    logger: logging.Logger
    directory: Path

    def debug(self, text: str, *values: object) -> None:
        """A line for who looks for the cause of something."""
        self.log(logging.DEBUG, text, *values)

    def info(self, text: str, *values: object) -> None:
        """A line about what is ordinary, and worth to be known."""
        self.log(logging.INFO, text, *values)

    def warning(self, text: str, *values: object) -> None:
        """A line about what was wrong, and was put right."""
        self.log(logging.WARNING, text, *values)

    def error(self, text: str, *values: object) -> None:
        """A line about what is wrong, and stays so."""
        self.log(logging.ERROR, text, *values)

    def log(
        self,
        level: int,
        text: str,
        *values: object,
        bug: BaseException | None = None,
    ) -> None:
        """A line; ``text`` has a place for each of the values, as `logging` does it.

        The traceback of a ``bug`` follows.
        """
        if self.logger.isEnabledFor(level):
            partition, directory = self.directory.name, str(self.directory.parent)
            self.logger.log(
                level,
                f"[%s in %s] {text}",
                partition,
                directory,
                *values,
                exc_info=bug,
                extra={"partition": partition, "directory": directory},
            )
