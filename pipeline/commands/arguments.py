"""The arguments that commands of the pipeline share."""

from __future__ import annotations

import argparse
import re
from typing import TYPE_CHECKING

from odradek.client.defaults import (
    BOOTSTRAP_SERVER,
    BOOTSTRAP_VARIABLE,
    default_bootstrap,
)
from odradek.client.profiles import ProfileError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.client.address import Address
    from odradek.terminal.parser import Parser

_SIZE = re.compile(r"(\d+)\s*([kKmMgG])?(?:i?[bB])?", re.ASCII)
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30}


def told(error: OSError, bootstrap: str) -> str:
    """What went wrong; where no broker could be reached, with what helps."""
    from odradek.client.errors import Unreachable

    text = str(error.strerror or error)
    if isinstance(error, Unreachable) and bootstrap:
        doctor = f"odradek pipeline doctor --bootstrap-server {bootstrap}"
        return f"{text}; '{doctor}' finds out what is wrong"
    return text


def cluster_arguments(parser: Parser) -> None:
    """Add the options of every command that reads a cluster with Spark."""
    try:
        bootstrap, _ = default_bootstrap()
    except ProfileError as error:
        parser.error(str(error))
    parser.add_argument(
        "--bootstrap-server",
        default=bootstrap,
        metavar="HOST:PORT",
        help="a broker of the cluster, or several with commas (default:"
        f" ${BOOTSTRAP_VARIABLE}, or else {BOOTSTRAP_SERVER})",
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
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write it like 128m")
    return int(found[1]) << _SHIFTS[(found[2] or "").lower()]
