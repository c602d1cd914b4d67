"""``odradek replay``: ask a broker what was recorded, and compare its answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
)
from odradek.broker.cli.arguments.refusals import not_asked, refuse
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.table import printable

if TYPE_CHECKING:
    import argparse

    from odradek.client.replay.player import Difference
    from odradek.client.replay.recording import Recording

_COMMAND = "replay"
_DIFFERENT = "DIFFERENT"
_EXAMPLES = (
    "odradek replay orders.recording --bootstrap-server kafka:9092",
    "odradek replay orders.recording --mask high_watermark --mask topics.partitions",
)


def command(arguments: list[str]) -> int:
    """Ask a broker again what clients asked; compare the answers."""
    from odradek.client.replay.recording import BadRecording, Recording

    parser = cluster_parser(
        _COMMAND,
        "Ask a broker what clients asked when it was recorded (docs/testing), and"
        " compare the answers. The broker should have what the first one had at the"
        " beginning, such as the same topics, empty.",
        _EXAMPLES,
        timeout="60s",
    )
    parser.add_argument("recording", metavar="FILE")
    parser.add_argument(
        "--mask",
        action="append",
        default=[],
        metavar="FIELD",
        help="a field of answers that is not compared, or the end of a path to it, like"
        " partitions.high_watermark; again for more",
    )
    options = parser.parse(arguments)
    try:
        return _replay(Recording(options.recording), options)
    except BadRecording as error:
        return fail(_COMMAND, FAILED, error, name="BAD_RECORDING")


def _replay(recording: Recording, options: argparse.Namespace) -> int:
    from odradek.client.replay.player import Player
    from odradek.protocol.errors import KafkaError, MalformedRequest

    count = 0
    player = Player(
        recording,
        options.bootstrap_server,
        security=options.security,
        timeout_s=options.timeout,
        mask=options.mask,
    )
    try:
        with player:
            for difference in player.play():
                count += 1
                if options.json:
                    print_json({"difference": difference._asdict()})
                else:
                    print(_line(difference))
    except BrokenPipeError:
        raise
    except KafkaError as error:
        return refuse(_COMMAND, error)
    except (MalformedRequest, OSError) as error:
        return not_asked(_COMMAND, error, options)
    if options.json:
        print_json({"calls": player.calls, "differences": count})
    if count:
        what = f"{_many(count, 'difference')} in {_many(player.calls, 'call')}"
        return fail(_COMMAND, FAILED, what, name=_DIFFERENT)
    if not options.json:
        print(f"{_many(player.calls, 'call')}, all answered as they were")
    return 0


def _line(difference: Difference) -> str:
    call, api, version, path, recorded, found = difference
    where = f"call {call}, {api} v{version}: {path.removeprefix('.')}"
    return printable(f"{where}: recorded {_text(recorded)}, now {_text(found)}")


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
