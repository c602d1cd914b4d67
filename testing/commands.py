"""Runs ``odradek`` as a command: a Kafka that has no door for tests is asked so."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from .errors import BrokerError, Refused
from .forks import LAUNCH
from .process import environment

if TYPE_CHECKING:
    from collections.abc import Sequence

TIMEOUT_S = 60.0


def run_command(
    arguments: Sequence[str],
    text: str = "",
    timeout_s: float | None = TIMEOUT_S,
    end: str = "",
) -> str:
    """What the command writes, given ``text`` to read.

    ``end``: a field of its last line, which says that it was done, whatever it found.

    Raises:
        Refused: the cluster says no; "timeout": the command does not end.
        BrokerError: it fails in another way; the message is its own.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-I", LAUNCH, *arguments],
            input=text,
            capture_output=True,
            encoding="utf-8",
            env=environment(),
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        command = " ".join(arguments)
        what = f"no end after {timeout_s:g} s: odradek {command}"
        raise Refused("timeout", what) from None
    if done.returncode != 0 and not (end and f'"{end}"' in done.stdout):
        raise _failure(done.stderr.strip(), done.stdout)
    return done.stdout


def _failure(message: str, output: str) -> BrokerError:
    """Why it failed: with ``--json`` an object says the code."""
    for line in reversed(output.splitlines()):
        try:
            error: Any = json.loads(line)["error"]
            return Refused(error["code"], message or error["message"])
        except (ValueError, KeyError, TypeError):
            continue
    return BrokerError(message or output.strip() or "the command says nothing")
