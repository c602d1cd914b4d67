"""``odradek dump-log``: what is in the files of a log directory."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.terminal.failure import USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument
from odradek.terminal.pipe import quiet_pipe

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable

    from odradek.storage.dump.log_dump import Depth

DAMAGED = 1
_COMMAND = "dump-log"
_EXAMPLES = (
    "odradek dump-log data/orders-0/00000000000000000000.log",
    "odradek dump-log --print-data-log data/orders-0",
)


def command(arguments: list[str]) -> int:
    """Show what is in the files of a log directory, and what is wrong in them."""
    parser = _parser()
    options = parser.parse(arguments)
    named = [*options.file, *_split(options.files)]
    paths = [path for each in named for path in _files_of(each)]
    if not paths:
        parser.error("say which files")
    wrong = _unusable(paths)
    if wrong is not None:
        return fail(_COMMAND, USAGE_ERROR, wrong)
    with quiet_pipe():
        return _dump(paths, options)


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Show what is in the files of a log directory, and what is wrong in them. "
        "Exit code: 0 all sound, 1 damage found, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("file", nargs="*", type=Path, metavar="FILE")
    parser.add_argument(
        "--files",
        action="append",
        default=[],
        metavar="FILE,FILE",
        help="more files, as kafka-dump-log takes them",
    )
    json_argument(parser, "one JSON object a line, with a type")
    parser.add_argument(
        "--deep", action="store_true", help="show the records of each batch, too"
    )
    parser.add_argument(
        "--deep-iteration", dest="deep", action="store_true", help="the same"
    )
    parser.add_argument(
        "--print-data-log",
        dest="data",
        action="store_true",
        help="show keys, values and header values (implies --deep)",
    )
    decoders = parser.add_mutually_exclusive_group()
    for name, topic in (
        ("--offsets-decoder", "__consumer_offsets"),
        ("--transaction-log-decoder", "__transaction_state"),
        ("--share-group-state-decoder", "__share_group_state"),
    ):
        decoders.add_argument(
            name,
            dest="decoder",
            action="store_const",
            const=topic,
            help=f"read keys and values as records of {topic} (implies --deep)",
        )
    parser.add_argument(
        "--max-bytes",
        type=_count,
        default=2**63,
        metavar="N",
        help="show only what begins in the first N bytes of a .log",
    )
    return parser


def _count(text: str) -> int:
    import argparse

    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes")
    return int(text)


def _split(lists: Iterable[str]) -> list[Path]:
    return [Path(name) for names in lists for name in names.split(",") if name]


def _files_of(path: Path) -> list[Path]:
    """The files of the directory of a partition, of which we know what they are."""
    from odradek.storage.dump.dump_file import kind_of

    if not path.is_dir():
        return [path]
    try:
        inside = sorted(path.iterdir())
    except OSError:
        return [path]
    known = [each for each in inside if kind_of(each.name) and each.is_file()]
    return known if any(each.suffix == ".log" for each in known) else [path]


def _unusable(paths: Iterable[Path]) -> str | None:
    """What is wrong with the first file that cannot be shown."""
    from odradek.storage.dump.dump_file import kind_of, known_names

    for path in paths:
        if path.is_dir():
            return f"{path} is no directory of a partition; odradek fsck checks others"
        if not path.exists():
            return f"{path} is not there"
        if not path.is_file():
            return f"{path} is not a regular file"
        if kind_of(path.name) is None:
            return f"{path.name} is unknown; known are {known_names()}"
        if not os.access(path, os.R_OK):
            return f"{path} cannot be read: permission denied"
    return None


def _depth(options: argparse.Namespace) -> Depth:
    from odradek.storage.dump.log_dump import Depth

    if options.decoder is None:
        return Depth(options.deep or options.data, options.data)
    from odradek.storage.dump.record_decoder import decoder_of

    return Depth(records=True, data=True, decoder=decoder_of(options.decoder))


def _dump(paths: Iterable[Path], options: argparse.Namespace) -> int:
    from odradek.protocol.errors import KafkaStorageError
    from odradek.storage.dump.dump_file import dump_file
    from odradek.storage.dump.line import json_lines, text_lines
    from odradek.storage.dump.row import RowKind
    from odradek.storage.files.read_only_files import ReadOnlyFiles

    show = json_lines if options.json else text_lines
    depth = _depth(options)
    code = 0
    for path in paths:
        try:
            for row in dump_file(ReadOnlyFiles(), path, depth, options.max_bytes):
                if row.kind is RowKind.DAMAGE:
                    code = DAMAGED
                sys.stdout.writelines(f"{line}\n" for line in show(path, row))
        except BrokenPipeError:
            raise
        except (KafkaStorageError, OSError) as error:
            code = fail(_COMMAND, DAMAGED, error, what=str(path))
    return code
