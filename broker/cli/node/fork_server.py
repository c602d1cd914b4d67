"""Brokers that are forked from a process which has loaded all that one needs.

A broker for a test has to be there at once, and most of its start is Python loading
modules. So one process loads them, and waits for orders: a message on its standard
input (a socket that keeps messages apart), with the arguments and surroundings of a
broker in JSON and two descriptors, its standard output and error. The answer has its
process id, and a descriptor that stands for the process, so that its id is never
mistaken for that of another one.

Invariants: here is no thread and no event loop, nothing is open, and no memory is
collected, so that a fork is a broker that has just loaded its modules. This process
ends with its owner, whoever else has inherited the other end of the socket; the
brokers do not end with this one.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import sys
from contextlib import suppress
from importlib import import_module
from typing import Any, Final

from odradek.broker.node.late_modules import LATE_MODULES, LOG_MODULES

MESSAGE_SIZE_MAX: Final = 1 << 20
_MODULES: Final = (
    "asyncio.unix_events",
    "concurrent.futures.thread",
    "encodings.ascii",
    "encodings.idna",
    "resource",
    "odradek.broker.cli.main",
    "odradek.broker.cli.node.serve",
    "odradek.broker.control.server",
    "odradek.broker.node.ready_line",
    "odradek.broker.operate.backups",
    "odradek.broker.runtime.companion",
    "odradek.broker.runtime.logs",
)
Order = dict[str, Any]


def next_broker(owner_id: int) -> list[str] | None:
    """Wait for orders. Returns in each broker, with its arguments; None at the end."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody has to bury brokers
    orders = socket.socket(fileno=0)
    try:
        owner = os.pidfd_open(owner_id)
    except OSError:  # it has ended, or this system has no such thing
        return None
    _load()
    if len(os.listdir("/proc/self/task")) != 1:
        return None  # a fork would have the locks of threads that it has not
    sources: list[Any] = [orders, owner]
    while True:
        readable, _, _ = select.select(sources, [], [])
        if owner in readable:
            return None
        message, descriptors, _, _ = socket.recv_fds(
            orders, MESSAGE_SIZE_MAX, 2, socket.MSG_CMSG_CLOEXEC
        )
        if not message:
            return None
        process_id = os.fork()
        if process_id == 0:
            os.close(owner)
            orders.close()
            return _become_broker(json.loads(message), descriptors)
        for descriptor in descriptors:
            os.close(descriptor)
        _answer(orders, process_id)


def _load() -> None:
    gc.disable()
    for name in LATE_MODULES:
        import_module(f"odradek.broker.{name}")
    for name in LOG_MODULES:
        import_module(f"odradek.storage.{name}")
    for name in _MODULES:
        import_module(name)
    with suppress(ImportError):
        import_module("uvloop")
    gc.collect()
    gc.freeze()
    gc.enable()


def _answer(orders: socket.socket, process_id: int) -> None:
    text = json.dumps({"pid": process_id}).encode()
    try:
        process = os.pidfd_open(process_id)
    except ProcessLookupError:  # so soon
        orders.send(text)
        return
    socket.send_fds(orders, [text], [process])
    os.close(process)


def _become_broker(order: Order, descriptors: list[int]) -> list[str]:
    """Be what a process with these arguments would be at its beginning."""
    output, errors = descriptors
    nothing = os.open(os.devnull, os.O_RDONLY)
    for number, descriptor in enumerate((nothing, output, errors)):
        os.dup2(descriptor, number)
    for descriptor in {nothing, output, errors} - {0, 1, 2}:
        os.close(descriptor)
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    os.environ.clear()
    os.environ.update(order["environment"])
    os.chdir(order["directory"])
    sys.argv[1:] = order["arguments"]
    return list(order["arguments"])
