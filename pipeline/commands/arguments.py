"""Arguments of the pipeline's commands: argparse, one clear line for every mistake."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from odradek.client.address import Address

BOOTSTRAP_SERVER = "127.0.0.1:9092"
EXAMPLES = "examples:"
USAGE_ERROR = 2
FAILED = 1
_UNKNOWN = "unrecognized arguments: "
_REQUIRED = ("is required", "arguments are required")
_SIZE = re.compile(r"(\d+)\s*([kKmMgG])?(?:i?[bB])?", re.ASCII)
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30}


class _Formatter(argparse.HelpFormatter):
    """Fills paragraphs, and leaves examples as they are written."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if text.startswith(EXAMPLES):
            return text
        return super()._fill_text(text, width, indent)


class Parser(argparse.ArgumentParser):
    """An ArgumentParser whose errors are one line and know what was meant."""

    def __init__(
        self, command: str, description: str, examples: Sequence[str] = ()
    ) -> None:
        self._given: list[str] = []
        super().__init__(
            prog=f"odradek {command}",
            description=description,
            epilog="\n  ".join([EXAMPLES, *examples]) if examples else None,
            formatter_class=_Formatter,
            allow_abbrev=False,
        )

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The arguments' values. Ends the process with code 2 when one is wrong."""
        self._given = list(arguments)
        return self.parse_args(arguments)

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, and end with code 2."""
        if message.startswith(_UNKNOWN):
            message = self._unknown(message.removeprefix(_UNKNOWN))
        elif any(words in message for words in _REQUIRED):
            # What is missing may be there, with a typo.
            strange = [word for word in self._given if self._is_unknown(word)]
            message = self._unknown(strange[0]) if strange else message
        self.exit(USAGE_ERROR, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def _is_unknown(self, word: str) -> bool:
        flag, _, _ = word.partition("=")
        return flag.startswith("--") and flag not in ["--", *self._flags()]

    def _unknown(self, arguments: str) -> str:
        word = arguments.split()[0]
        flag, _, _ = word.partition("=")
        meant = did_you_mean(flag, self._flags()) if flag.startswith("-") else None
        hint = f"; did you mean {meant}?" if meant else ""
        return f"unknown argument {word}{hint}"

    def _flags(self) -> list[str]:
        return [name for name in self._option_string_actions if len(name) > 2]


def cluster_arguments(parser: Parser) -> None:
    """Add the options of every command that reads a cluster with Spark."""
    parser.add_argument(
        "--bootstrap-server",
        default=BOOTSTRAP_SERVER,
        metavar="HOST:PORT",
        help="a broker of the cluster, or several with commas (default:"
        f" {BOOTSTRAP_SERVER})",
    )
    spark_arguments(parser)


def spark_arguments(parser: Parser) -> None:
    """Add the options of every command that runs Spark."""
    parser.add_argument(
        "--master",
        metavar="URL",
        help="where Spark runs, like local[4,4] or spark://host:7077 (default:"
        " local[*,4])",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of Spark; may be given often",
    )


def addresses(text: str) -> list[Address]:
    """The brokers that ``--bootstrap-server`` names; for ``type=``."""
    from odradek.client.address import parse_addresses

    try:
        return parse_addresses(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def spark_options(
    given: Sequence[str], name: str = "--conf", example: str = "spark.driver.memory=2g"
) -> dict[str, str]:
    """What arguments like those of ``--conf`` say.

    Raises:
        ValueError: one of them has no ``=``.
    """
    options = {}
    for text in given:
        key, separator, value = text.partition("=")
        if not separator or not key:
            raise ValueError(f"{name} {text}: write it like {example}")
        options[key.strip()] = value.strip()
    return options


def size(text: str) -> int:
    """A number of bytes like ``128m`` or ``1GiB``; for ``type=``."""
    found = _SIZE.fullmatch(text)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is no size; write it like 128m")
    return int(found[1]) << _SHIFTS[(found[2] or "").lower()]


def did_you_mean(word: str, known: Iterable[str]) -> str | None:
    """The known word that ``word`` was most likely meant to be."""
    from difflib import get_close_matches  # only when something is wrong: 3 ms

    close = get_close_matches(word, list(known), n=1)
    return close[0] if close else None


def fail(command: str, code: int, message: object) -> int:
    """Say in one line why a command fails, and return its exit code."""
    line = " ".join(str(message).split())
    print(f"odradek {command}: {line}", file=sys.stderr)
    return code
