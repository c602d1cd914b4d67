"""The arguments that commands of the pipeline share."""

from __future__ import annotations

import argparse
import os
import re
from typing import TYPE_CHECKING

from odradek.client.defaults import (
    BOOTSTRAP_SERVER,
    BOOTSTRAP_VARIABLE,
    CLIENT_CONFIG_VARIABLE,
    client_file,
    default_bootstrap,
)
from odradek.client.profiles import PROFILE_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from odradek.client.address import Address
    from odradek.terminal.parser import Parser

_SIZE = re.compile(r"(\d+)\s*([kKmMgG])?(?:i?[bB])?", re.ASCII)
STORE_EXAMPLE = "endpoint=https://host:9000"
_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30}


def told(error: OSError, bootstrap: str) -> str:
    """What went wrong; where no broker could be reached, with what helps."""
    from odradek.client.errors import Unreachable

    text = str(error.strerror or error)
    if error.filename and not isinstance(error, Unreachable):
        text = f"{error.filename}: {text}"
    if isinstance(error, Unreachable) and bootstrap:
        doctor = f"odradek pipeline doctor --bootstrap-server {bootstrap}"
        return f"{text}; '{doctor}' finds out what is wrong"
    return text


def cluster_arguments(parser: Parser) -> None:
    """Add the options of every command that reads a cluster with Spark."""
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="a broker of the cluster, or several with commas (default:"
        f" ${BOOTSTRAP_VARIABLE}, or else {BOOTSTRAP_SERVER})",
    )
    parser.add_argument(
        "--profile",
        metavar="NAME",
        help="the brokers, and the file of client options, of this profile (default:"
        f" ${PROFILE_VARIABLE}, or the one in use; see odradek profile)",
    )
    command_config_argument(parser)
    spark_arguments(parser)


def command_config_argument(parser: Parser) -> None:
    """Add the option for TLS and SASL."""
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="a file of client options for TLS and SASL, as Java's tools and"
        " librdkafka's have it, which tasks of Spark read too (default:"
        f" ${CLIENT_CONFIG_VARIABLE}, or the profile's)",
    )


def find_cluster(parser: Parser, options: argparse.Namespace) -> None:
    """Set ``bootstrap_server``, and ``command_config`` to a whole path, or to nothing.

    Ends the process when the client's options are wrong.
    """
    is_named = options.bootstrap_server is not None
    if is_named and not options.bootstrap_server.strip():
        parser.error("argument --bootstrap-server: it names no broker")
    try:
        given = client_file(options.command_config, options.profile, is_named=is_named)
        if not is_named:
            brokers, who = default_bootstrap(options.profile)
            # Who names a file means its brokers; else they are the last asked.
            is_wanted = bool(options.command_config) or not who
            if is_wanted and given and given.bootstrap_servers:
                brokers = given.bootstrap_servers
            options.bootstrap_server = brokers
    except ValueError as error:
        parser.error(str(error))
    options.command_config = whole_path(given.security.origin) if given else ""


def whole_path(path: str) -> str:
    """The path for who may have another working directory; nothing for nothing."""
    return os.path.abspath(os.path.expanduser(path)) if path else ""


def spark_arguments(parser: Parser) -> None:
    """Add the options of every command that runs Spark."""
    parser.add_argument(
        "--master",
        metavar="URL",
        help="where Spark runs, like local[4,4] or spark://host:7077 (default:"
        " local[*,4])",
    )
    conf_arguments(parser)


def conf_arguments(parser: Parser) -> None:
    """Add the options that are handed on to Spark."""
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="an option of Spark; may be given often",
    )
    parser.add_argument(
        "--properties-file",
        metavar="FILE",
        help="options of Spark, as spark-submit has them; --conf goes before",
    )


def store_argument(parser: Parser) -> None:
    """Add the option for tables in stores."""
    parser.add_argument(
        "--store",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the store of s3://, gs:// or az://: endpoint, region,"
        " profile, account; may be given often. Credentials are found where the cloud's"
        " own tools find them",
    )


def driver_address_argument(parser: Parser) -> None:
    """Add the option that says where Spark's tasks find this process."""
    parser.add_argument(
        "--driver-address",
        type=_driver_address,
        default="",
        metavar="HOST:PORT",
        help="where Spark's tasks ask this process before they send, like :7777 for a"
        " port that a firewall lets through (default: Spark's own name for this"
        " machine, and a free port)",
    )


def _driver_address(text: str) -> str:
    from odradek.pipeline.spark.driver_address import parse_driver_address

    try:
        parse_driver_address(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return text


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


def spark_conf(options: argparse.Namespace) -> dict[str, str]:
    """What ``--properties-file`` and ``--conf`` say; sets ``master`` if the file does.

    Raises:
        ValueError: one of them cannot be read.
    """
    given = spark_options(options.conf)
    if not options.properties_file:
        return given
    from pathlib import Path

    from odradek.protocol.properties import parse_properties

    named = f"--properties-file {options.properties_file}"
    try:
        text = Path(options.properties_file).read_text(encoding="utf-8")
    except OSError as error:
        raise ValueError(f"{named}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ValueError(f"{named}: it is not text in UTF-8") from None
    found = {}
    for line, name, value in parse_properties(text):
        if not name.startswith("spark."):
            raise ValueError(f"{named}: line {line}: {name} is no option of Spark")
        found[name] = value.strip()
    master = found.pop("spark.master", None)
    options.master = options.master or master
    return found | given


def check_no_secret(options: Mapping[str, str]) -> None:
    """Whether nothing stands on the command line that all of the machine can see.

    Raises:
        ValueError: something does.
    """
    from odradek.pipeline.security.clear_secrets import INSTEAD, clear_secret

    if name := clear_secret(options):
        raise ValueError(
            f"--option {name}: everybody on this machine can see a command line;"
            f" {INSTEAD} (--command-config)"
        )


def count(text: str) -> int:
    """A number of things, at least one; for ``type=``."""
    if not (text.isascii() and text.isdigit() and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 1 on")
    return int(text)


def size(text: str) -> int:
    """A number of bytes like ``128m`` or ``1GiB``; for ``type=``."""
    found = _SIZE.fullmatch(text)
    if found is None or not int(found[1]):
        raise argparse.ArgumentTypeError(f"{text!r} is not a size; write it like 128m")
    return int(found[1]) << _SHIFTS[(found[2] or "").lower()]
