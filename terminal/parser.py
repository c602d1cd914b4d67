"""Arguments of a command: argparse, with one clear line for every mistake."""

from __future__ import annotations

import argparse
import re
import sys
from functools import partial
from itertools import takewhile
from typing import TYPE_CHECKING, NoReturn

from .failure import USAGE, USAGE_ERROR, answer_in_json, one_line, tell_error
from .screen import COLOR_CHOICES, Style, choose_colors, styled
from .spelling import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

EXAMPLES = "examples:"
JSON = "--json"
PAIR = "NAME=VALUE"
_SETTERS = ("-o", "--set", "--config")  # with such a PAIR
_MANY = (argparse.ONE_OR_MORE, argparse.ZERO_OR_MORE)
_UNKNOWN = "unrecognized arguments: "
_IGNORED = "ignored explicit argument "
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
        self._command = command
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
        options, rest = self.parse_known_args(arguments)
        if rest:
            options = self._parse_mixed(arguments, rest)
        choose_colors(options.color or "auto")
        return options

    def _parse_mixed(
        self, arguments: Sequence[str], rest: Sequence[str]
    ) -> argparse.Namespace:
        """The values where options stand between names of which there can be many."""
        is_many = any(each.nargs in _MANY for each in self._get_positional_actions())
        if is_many and not any(word.startswith("-") for word in rest):
            return self.parse_intermixed_args(arguments)
        self.error(f"{_UNKNOWN}{' '.join(rest)}")

    def format_help(self) -> str:
        """The help, as wide as the terminal."""
        self.formatter_class = _Formatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """Say what is wrong in one line, and end with code 2."""
        # An option that nobody knows is said first: what else is wrong may be only
        # what its value looks like in another place, or what it was to be.
        strange = next(filter(self._is_unknown, self._options_given()), "")
        if strange or message.startswith(_UNKNOWN):
            message = self._unknown(strange or message.removeprefix(_UNKNOWN))
        elif _IGNORED in message:
            argument, _, value = message.partition(_IGNORED)
            message = f"{argument}it takes no value; leave {value} out"
        tell_error(one_line(message), name=USAGE)
        who = styled(f"{self.prog}:", Style.ERROR, sys.stderr)
        self.exit(USAGE_ERROR, f"{who} {message} (see {self.prog} --help)\n")

    def _options_given(self) -> Iterator[str]:
        return takewhile(lambda word: word != "--", self._given)

    def _is_unknown(self, word: str) -> bool:
        flag, _, _ = word.partition("=")
        return len(flag) > 2 and (
            flag.startswith("--") and flag not in self._option_string_actions
        )

    def _unknown(self, arguments: str) -> str:
        word = arguments.split()[0]
        flag, _, _ = word.partition("=")
        hint = self._hint(flag, word)
        return f"unknown argument {word}" + (f"; {hint}" if hint else "")

    def _hint(self, flag: str, word: str) -> str:
        """What to type in place of a ``word`` that nobody knows, if we know that."""
        from .foreign_options import instead

        is_flag = flag.startswith("-")
        if flag != word and (not is_flag or "." in flag) and (way := self._setter()):
            return f"options are set by {way} {word.lstrip('-')}"
        if not is_flag:
            is_file = word.endswith(".properties") and "--config" in self._flags()
            return f"a file of options is named by --config {word}" if is_file else ""
        if advice := instead(self._command, flag, self._flags()):
            return advice
        meant = did_you_mean(flag, self._flags())
        return f"did you mean {meant}?" if meant else ""

    def _flags(self) -> list[str]:
        return [name for name in self._option_string_actions if len(name) > 2]

    def _setter(self) -> str:
        """The option that gives an option of a broker or topic a value, if one does."""
        for flag in _SETTERS:
            action = self._option_string_actions.get(flag)
            if action is not None and action.metavar == PAIR:
                return flag
        return ""


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
