"""Arguments of a command: argparse, with one clear line for every mistake."""

from __future__ import annotations

import argparse
import re
import sys
from functools import partial
from typing import TYPE_CHECKING, NoReturn

from .failure import USAGE, USAGE_ERROR, answer_in_json, one_line, tell_error
from .screen import COLOR_CHOICES, Style, choose_colors, styled
from .spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

EXAMPLES = "examples:"
JSON = "--json"
PAIR = "NAME=VALUE"
_UNKNOWN = "unrecognized arguments: "
_IGNORED = "ignored explicit argument "
_REQUIRED = "is required"
_REQUIRED_TOO = "arguments are required"
_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)?", re.ASCII)
_SECONDS_MAX = 500 * 3600  # as ms it is sent as an int32
_SECONDS = {"ms": 0.001, "s": 1, None: 1, "m": 60, "h": 3600, "d": 86_400}


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
        self.add_argument(
            "--color",
            choices=COLOR_CHOICES,
            help="colours in what is for people (default: auto, on a terminal)",
        )

    def parse(self, arguments: Sequence[str]) -> argparse.Namespace:
        """The arguments' values. Ends the process with code 2 when one is wrong."""
        self._given = list(arguments)
        knows_json = JSON in self._option_string_actions
        answer_in_json(knows_json and JSON in arguments)
        choose_colors("auto")
        options = self.parse_args(arguments)
        choose_colors(options.color or "auto")
        return options

    def format_help(self) -> str:
        """The help, as wide as the terminal."""
        self.formatter_class = _Formatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, and end with code 2."""
        if message.startswith(_UNKNOWN):
            message = self._unknown(message.removeprefix(_UNKNOWN))
        elif _IGNORED in message:
            argument, _, value = message.partition(_IGNORED)
            message = f"{argument}it takes no value; leave {value} out"
        elif message.endswith(_REQUIRED) or _REQUIRED_TOO in message:
            # What is missing may be there, with a typo.
            strange = [word for word in self._given if self._is_unknown(word)]
            message = self._unknown(strange[0]) if strange else message
        tell_error(one_line(message), name=USAGE)
        who = styled(f"{self.prog}:", Style.ERROR, sys.stderr)
        self.exit(USAGE_ERROR, f"{who} {message} (see {self.prog} --help)\n")

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
        if flag != word and self._sets(flag):
            hint = f"; options are set by -o {word}"
        return f"unknown argument {word}{hint}"

    def _sets(self, name: str) -> bool:
        """Whether it is an option that ``-o NAME=VALUE`` would set."""
        pairs = self._option_string_actions.get("-o")
        return pairs is not None and pairs.metavar == PAIR and name[:1] != "-"


def json_argument(parser: argparse.ArgumentParser, what: str) -> None:
    """Add ``--json``, which answers with ``what``; of failures see `failure.fail`."""
    parser.add_argument(
        JSON, action="store_true", help=f"{what}; a failure is an object with error"
    )


def port(text: str) -> int:
    """A port number; for ``type=``."""
    if not text.isascii() or not text.isdigit() or int(text) > 65535:
        raise argparse.ArgumentTypeError(f"{text!r} is not a port (0-65535)")
    return int(text)


def host(text: str) -> str:
    """The name or the address of a host, without a port; for ``type=``."""
    name, _, number = text.partition(":")
    if "/" in text:
        told = f"{text!r} is not a host; write it like localhost or 127.0.0.1"
        raise argparse.ArgumentTypeError(told)
    if number.isdigit():
        told = f"{text!r} is a host and a port; write --host {name} --port {number}"
        raise argparse.ArgumentTypeError(told)
    return text


def seconds(text: str) -> float:
    """A duration like ``30s``, ``500ms``, ``2m`` or ``7d``, in seconds."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time; write it like 30s")
    value = float(found[1]) * _SECONDS[found[2]]
    if value > _SECONDS_MAX:
        raise argparse.ArgumentTypeError(f"{text!r} is too long; at most 500h")
    return value
