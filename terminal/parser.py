"""Arguments of a command: argparse, with one clear line for every mistake."""

from __future__ import annotations

import argparse
import re
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from .failure import USAGE_ERROR
from .spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = "examples:"
_UNKNOWN = "unrecognized arguments: "
_REQUIRED = "is required"
_REQUIRED_TOO = "arguments are required"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h)?", re.ASCII)
_SECONDS_MAX = 500 * 3600  # as ms it is sent as an int32
_SECONDS = {"ms": 0.001, "s": 1, None: 1, "m": 60, "h": 3600}


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
            # With it argparse checks each argument. To ask how wide the terminal is
            # would load the libraries of archives, for nothing.
            formatter_class=partial(_Formatter, width=80),
            allow_abbrev=False,
        )

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The arguments' values. Ends the process with code 2 when one is wrong."""
        self._given = list(arguments)
        return self.parse_args(arguments)

    def format_help(self) -> str:
        """The help, as wide as the terminal."""
        self.formatter_class = _Formatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, and end with code 2."""
        if message.startswith(_UNKNOWN):
            message = self._unknown(message.removeprefix(_UNKNOWN))
        elif message.endswith(_REQUIRED) or _REQUIRED_TOO in message:
            # What is missing may be there, with a typo.
            strange = [word for word in self._given if self._is_unknown(word)]
            message = self._unknown(strange[0]) if strange else message
        self.exit(USAGE_ERROR, f"{self.prog}: {message} (see {self.prog} --help)\n")

    def _is_unknown(self, word: str) -> bool:
        flag, _, _ = word.partition("=")
        return len(flag) > 2 and (
            flag.startswith("--") and flag not in self._option_string_actions
        )

    def _unknown(self, arguments: str) -> str:
        word = arguments.split()[0]
        flag, _, _ = word.partition("=")
        known = [name for name in self._option_string_actions if len(name) > 2]
        meant = did_you_mean(flag, known) if flag.startswith("-") else None
        hint = f"; did you mean {meant}?" if meant else ""
        return f"unknown argument {word}{hint}"


def port(text: str) -> int:
    """A port number; for ``type=``."""
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is no port (0-65535)")
    return int(text)


def seconds(text: str) -> float:
    """A duration like ``30s``, ``500ms`` or ``2m``, in seconds; for ``type=``."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is no duration; write it like 30s")
    value = float(found[1]) * _SECONDS[found[2]]
    if value > _SECONDS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is too long; at most 500h")
    return value
