"""What a machine of Spark says of itself, to the doctor.

It goes to the executors as a whole, since one may lack odradek: so nothing but the
standard library is imported here before it is known to be there.
"""

from __future__ import annotations

import os
import socket
import sys
import time
import uuid
from typing import Any, NamedTuple

_TIMEOUT_S = 10.0


class Question(NamedTuple):
    """What to look at; ``access`` are the pickled options of TLS and login."""

    packages: tuple[str, ...] = ()
    brokers: tuple[tuple[str, int], ...] = ()
    access: bytes = b""
    driver: tuple[str, int] | None = None
    shared: str = ""
    token: str = ""
    hold_s: float = 0.0


def answer(question: Question) -> dict[str, Any]:
    """Look, and stay a while, so that the next of these tasks runs elsewhere."""
    packages = {name: _version(name) for name in question.packages}
    has_client = packages.get("odradek") is not None
    found = {
        "host": socket.gethostname(),
        "process": os.getppid(),
        "python": ".".join(map(str, sys.version_info[:2])),
        "executable": sys.executable,
        "user": os.getuid(),
        "packages": packages,
        "broker": _broker(question, has_client=has_client),
        "driver": _reached(*question.driver) if question.driver is not None else "",
        "shared": _shared(question),
    }
    time.sleep(question.hold_s)
    return found


def _version(name: str) -> str | None:
    """Of a package; None where it cannot be imported."""
    import importlib.metadata
    import importlib.util

    if importlib.util.find_spec(name) is None:
        return None
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # a folder of its sources
        return str(
            getattr(importlib.import_module(name), "__version__", "of no version")
        )


def _broker(question: Question, *, has_client: bool) -> str:
    """Why no broker can be reached; empty when one can."""
    reasons = []
    for host, port in question.brokers:
        said = (
            _spoken_to(host, port, question.access)
            if has_client
            else _reached(host, port)
        )
        if not said:
            return ""
        reasons.append(said)
    return "; ".join(reasons)


def _spoken_to(host: str, port: int, access: bytes) -> str:
    import pickle

    try:
        from odradek.client.connection import Connection

        security = pickle.loads(access).security() if access else None
        Connection(host, port, timeout_s=_TIMEOUT_S, security=security).close()
    except Exception as error:
        lines = str(error).splitlines() or [type(error).__name__]
        return f"{host}:{port}: {lines[0]}"
    return ""


def _reached(host: str, port: int) -> str:
    try:
        socket.create_connection((host, port), _TIMEOUT_S).close()
    except OSError as error:
        return f"{host}:{port}: {error.strerror or error}"
    return ""


def _shared(question: Question) -> str:
    """Whether the driver's file is here, and one can be written beside it."""
    if not question.shared:
        return ""
    try:
        with open(question.shared) as file:
            if file.read() != question.token:
                return f"{question.shared} is another file here"
        name = f"{question.shared}.{uuid.uuid4().hex}"
        with open(name, "x") as file:
            file.write(question.token)
        os.unlink(name)
    except OSError as error:
        return f"{error.filename or question.shared}: {error.strerror or error}"
    return ""
