"""The process that forks brokers, asked as `odradek.testing.forks` asks it."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.broker_process import ended
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or not hasattr(os, "pidfd_open"),
    reason="brokers are forked on Linux alone",
)
# Says what a broker would be, in place of being one.
SERVER = """
import json, os, signal, sys
from odradek.broker.cli.node.fork_server import next_broker
arguments = next_broker(int(sys.argv[1]))
if arguments is not None:
    print("to the log", file=sys.stderr)
    print(json.dumps({
        "arguments": arguments,
        "argv": sys.argv[1:],
        "directory": os.getcwd(),
        "environment": dict(os.environ),
        "input": sys.stdin.read(),
        "descriptors": sorted(os.listdir("/proc/self/fd"), key=int),
        "interrupt": signal.getsignal(signal.SIGINT) is signal.default_int_handler,
        "children": signal.getsignal(signal.SIGCHLD) is signal.SIG_DFL,
        "leads": os.getsid(0) == os.getpid(),
    }))
"""
# Starts a broker in a process that has loaded what the fork server loads.
LOADED = """
import signal, sys
from odradek.broker.cli.node import fork_server
from odradek.broker.runtime import process
fork_server._load()
before = set(sys.modules)
from odradek.broker.cli.main import main

def announce(line):
    print(*sorted(set(sys.modules) - before))
    signal.raise_signal(signal.SIGTERM)

process._print = announce
sys.exit(main(sys.argv[1:]))
"""


@contextmanager
def serving(owner_id: int) -> Iterator[tuple[subprocess.Popen[Any], socket.socket]]:
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ours.settimeout(PATIENCE_S)
    command = [sys.executable, "-c", SERVER, str(owner_id)]
    with theirs:
        process = subprocess.Popen(command, stdin=theirs)
    with ended(process), ours:
        yield process, ours


def order(
    asking: socket.socket, directory: Path, log: Path, *arguments: str
) -> dict[str, Any]:
    """What a broker with these arguments says of itself."""
    message = {
        "arguments": arguments,
        "directory": str(directory),
        "environment": {"NAME": "value"},
    }
    output, theirs = os.pipe()
    with open(output) as said, log.open("w") as errors:
        descriptors = [theirs, errors.fileno()]
        socket.send_fds(asking, [json.dumps(message).encode()], descriptors)
        os.close(theirs)
        answer, found, _, _ = socket.recv_fds(asking, 1000, 1)
        assert json.loads(answer)["pid"] > 0
        for descriptor in found:
            os.close(descriptor)
        told: dict[str, Any] = json.loads(said.read())
    return told


def test_a_fork_is_as_a_process_at_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with serving(os.getpid()) as (_, asking):
        for arguments in (("serve", "--port", "0"), ("serve",)):
            told = order(asking, tmp_path, log, *arguments)
            assert told["arguments"] == told["argv"] == list(arguments)
            assert told["directory"] == str(tmp_path)
            assert told["environment"] == {"NAME": "value"}
            assert told["input"] == ""
            # The three, and the one that lists them.
            assert told["descriptors"] == ["0", "1", "2", "3"]
            assert told["interrupt"]
            assert told["children"]
            assert told["leads"]
            assert log.read_text() == "to the log\n"


def test_it_ends_when_its_owner_hangs_up() -> None:
    with serving(os.getpid()) as (process, asking):
        asking.close()
        assert process.wait(PATIENCE_S) == 0


def test_it_ends_with_its_owner_even_if_somebody_else_could_ask() -> None:
    command = [sys.executable, "-c", "import sys; sys.stdin.read()"]
    owner = subprocess.Popen(command, stdin=subprocess.PIPE)
    with ended(owner), serving(owner.pid) as (process, _):
        owner.kill()
        assert process.wait(PATIENCE_S) == 0


def test_it_forks_for_nobody_who_has_ended_before() -> None:
    owner = subprocess.Popen([sys.executable, "-c", ""])
    owner.wait()
    with serving(owner.pid) as (process, _):
        assert process.wait(PATIENCE_S) == 0


def test_a_broker_loads_nothing_that_is_not_loaded_before_the_fork(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", LOADED, "serve", "--port", "0"]
    command += ["--data-dir", str(tmp_path), "-o", "test.control=true"]
    command += ["-o", f"exit.with.process={os.getpid()}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE_S)
    assert run.returncode == 0, run.stderr
    late = [name for name in run.stdout.split() if name.startswith("odradek.")]
    assert not late
