"""What commands share that ask a cluster: arguments, connection, failures."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING

from odradek.terminal.parser import json_argument, seconds
from odradek.terminal.pipe import quiet_pipe
from odradek.terminal.spelling import did_you_mean

from .brokers import ClusterParser

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from odradek.client.cluster import Cluster

_TOPIC = re.compile(r"([^:,\s]+)(?::(\d+(?:,\d+)*))?", re.ASCII)


def cluster_parser(
    command: str,
    description: str,
    examples: Sequence[str] = (),
    *,
    timeout: str = "30s",
) -> ClusterParser:
    """A parser with the options that every such command has."""
    full = f"{description} Exit code: 0 done, 1 failed, 2 usage."
    parser = ClusterParser(command, full, examples)
    parser.add_argument(
        "--timeout",
        type=_timeout,
        default=timeout,
        metavar="TIME",
        help=f"how long to wait for an answer (default: {timeout})",
    )
    json_argument(parser, "one JSON object a line")
    return parser


def _timeout(text: str) -> float:
    value = seconds(text)
    if not value:
        raise argparse.ArgumentTypeError("it must be more than 0")
    return value


def count(text: str) -> int:
    """A whole number that is not negative; for ``type=``."""
    if not (text.isascii() and text.isdigit() and int(text) < 1 << 63):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return int(text)


def offset(text: str) -> int:
    """A whole number, which may be negative; for ``type=``."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and int(digits) < 1 << 63):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def topic(text: str) -> tuple[str, tuple[int, ...] | None]:
    """A topic with partitions, like ``orders:0,2``, or all of it; for ``type=``."""
    found = _TOPIC.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a topic; write it like orders or orders:0,2"
        )
    if found[2] is None:
        return found[1], None
    return found[1], tuple(sorted({int(number) for number in found[2].split(",")}))


def word_of(known: tuple[str, ...]) -> Callable[[str], list[str]]:
    """For ``type=``: words with commas between, of these, in any case."""
    spelt = {word.lower(): word for word in known}

    def words(text: str) -> list[str]:
        found = []
        for part in filter(None, (part.strip() for part in text.split(","))):
            if part.lower() not in spelt:
                meant = did_you_mean(part.lower(), spelt)
                hint = f"there are {', '.join(known)}"
                if meant:
                    hint = f"did you mean {spelt[meant]}?"
                raise argparse.ArgumentTypeError(f"{part!r} is not known; {hint}")
            found.append(spelt[part.lower()])
        return found

    return words


def run(
    command: str, options: argparse.Namespace, act: Callable[[Cluster], int]
) -> int:
    """The exit code of ``act``; what goes wrong is said in one line."""
    from odradek.client.cluster import Cluster
    from odradek.protocol.errors import KafkaError, MalformedRequest

    from .refusals import not_asked, refuse

    try:
        with (
            quiet_pipe(),
            Cluster(
                options.bootstrap_server,
                timeout_s=options.timeout,
                security=options.security,
            ) as cluster,
        ):
            return act(cluster)
    except BrokenPipeError:  # of the standard output; a lost broker is another error
        raise
    except KafkaError as error:
        return refuse(command, error)
    except (MalformedRequest, OSError) as error:
        return not_asked(command, error, options)


def error_text(error: Exception) -> str:
    """What went wrong; what a broker said with the name that Kafka has for it."""
    from .refusals import name_of

    return ": ".join(filter(None, (name_of(error), str(error))))


def print_json(value: object) -> None:
    """One object, in one line."""
    print(json.dumps(value, ensure_ascii=False))
