"""How a command gets a password: asked for, from a file, made; never an argument.

What stands in a command line is in the history of the shell, and every user of the
machine can read it in the list of processes.
"""

from __future__ import annotations

import argparse
import os
import secrets
import string
import sys
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .table import printable

if TYPE_CHECKING:
    from argparse import ArgumentParser

_SIZE_MAX = 1024
# Letters and digits alone: none of them means anything in a shell or a file of options.
_ALPHABET = string.ascii_letters + string.digits
_MADE_LENGTH = 32  # 190 bits
_NO_TEXT = "a password is a text in UTF-8; nothing was changed"


class NoPassword(Exception):
    """There is none, or not the same twice; says what to do."""


class Password(NamedTuple):
    """A password; ``is_made``: nobody knows it yet."""

    text: str
    is_made: bool = False

    def __repr__(self) -> str:
        return "Password(***)"


def password_arguments(parser: ArgumentParser, *, asks: bool = False) -> None:
    """Add the ways to give one. With ``asks`` there is one for being asked, too."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument(
        "--password-file",
        metavar="FILE",
        help="the password is the first line of this file",
    )
    group.add_argument(
        "--password-stdin",
        action="store_true",
        help="the password is the first line of the standard input",
    )
    group.add_argument(
        "--generate",
        action="store_true",
        help="make a password" + (" (default)" if asks else ", and print it"),
    )
    if asks:
        group.add_argument(
            "--ask", action="store_true", help="ask for the password, twice"
        )
    group.add_argument("--password", type=_no_argument, help=argparse.SUPPRESS)


def _no_argument(_: str) -> str:
    raise argparse.ArgumentTypeError(
        "others can read what stands in a command line; the password is asked for, or"
        " is the first line of --password-file, or of the standard input"
    )


def password_of(options: argparse.Namespace, who: str) -> Password:
    """The password that the arguments of `password_arguments` ask for.

    Raises:
        NoPassword: it is empty, cannot be read, or was typed differently twice.
    """
    if options.password_file is not None:
        return Password(password_in(Path(options.password_file)))
    if options.generate:
        return Password(made_password(), is_made=True)
    if not options.password_stdin and sys.stdin.isatty():
        return Password(_checked(_asked(who)))
    try:
        line = sys.stdin.readline(_SIZE_MAX + 2)
    except UnicodeDecodeError:
        raise NoPassword(_NO_TEXT) from None
    return Password(_checked(line.rstrip("\r\n")))


def made_password() -> str:
    """One that nobody guesses."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_MADE_LENGTH))


def password_in(path: Path) -> str:
    """The first line of a file.

    Raises:
        NoPassword: there is none, or the file cannot be read.
    """
    try:
        with open(os.path.expanduser(path), encoding="utf-8") as file:
            line = file.readline(_SIZE_MAX + 2)
    except OSError as error:
        raise NoPassword(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise NoPassword(f"{path}: it is no text") from None
    try:
        return _checked(line.rstrip("\r\n"))
    except NoPassword as error:
        raise NoPassword(f"{path}: {error}") from None


def _asked(who: str) -> str:
    from getpass import getpass

    password = getpass(f"password of {printable(who)}: ", sys.stderr)
    if password and getpass("again: ", sys.stderr) != password:
        raise NoPassword("the passwords are not the same; nothing was changed")
    return password


def _checked(password: str) -> str:
    if not password:
        raise NoPassword("a password cannot be empty; nothing was changed")
    if len(password) > _SIZE_MAX:
        raise NoPassword(f"a password has at most {_SIZE_MAX} characters")
    if "\0" in password:
        raise NoPassword("a password cannot have a NUL in it")
    try:
        password.encode()
    except UnicodeEncodeError:
        raise NoPassword(_NO_TEXT) from None
    return password
