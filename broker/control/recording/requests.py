"""``recording.begin``, ``recording.end``, ``replay``.

``recording.begin`` (``path``: an absolute one; ``match`` as in ``faults.arm``): keeps
the requests that match, and their answers, in the file from now on, until
``recording.end`` with the ``recording`` that it has given; only then the file is there,
in place of one that was, or none with ``"keep": false``. ``size_max`` is how large it
may get.

``replay`` (``path``; ``mask``: fields that are not compared) asks the requests again
and has an item for each ``difference``, the first 100 of them, and a last one with the
numbers of ``calls`` and ``differences``. With ``bootstrap`` it asks other brokers, and
``client`` are the client's options for TLS and SASL, by Java's or librdkafka's names.
"""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from odradek.broker.control.faults.match import Match
from odradek.broker.control.fields import Fields, refusal
from odradek.broker.operate.admin_socket import AdminError

from .recorder import Recorder

if TYPE_CHECKING:
    from collections.abc import Callable

    from odradek.broker.control.server import ControlledServer
    from odradek.broker.network.entry import Layers
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request
    from odradek.client.address import Address
    from odradek.client.replay.player import Player
    from odradek.client.security.settings import Security

SIZE_MAX: Final = 1 << 30
_DIFFERENCES_MAX: Final = 100
_TIMEOUT_MS: Final = 60_000
_TIMEOUT_MS_MAX: Final = 3_600_000


class Recorders:
    """The recordings that go on."""

    def __init__(self, server: ControlledServer, layers: Layers) -> None:
        self._server = server
        self._layers = layers
        self._by_id: dict[int, Recorder] = {}
        self._last_id = 0

    def requests(self) -> dict[str, AdminRequest]:
        """What answers each."""

        async def begin(request: Request) -> Items:
            yield {"recording": self._begin(Fields(request))}

        async def end(request: Request) -> Items:
            fields = Fields(request)
            recording = fields.number("recording")
            is_kept = fields.flag("keep", True)
            fields.end()
            yield self._end(recording, is_kept)

        async def replay(request: Request) -> Items:
            async for item in self._replay(Fields(request)):
                yield item

        return {"recording.begin": begin, "recording.end": end, "replay": replay}

    def close(self) -> None:
        """The broker ends, and its recordings with it."""
        for recorder in self._by_id.values():
            recorder.give_up()
        self._by_id.clear()

    def _begin(self, fields: Fields) -> int:
        path = _absolute(fields)
        server = self._server
        match = Match.of(fields.mapping("match", {}), server.services.metadata)
        size_max = fields.number("size_max", SIZE_MAX, at_least=1)
        fields.end()
        if any(path == each.path for each in self._by_id.values()):
            raise AdminError("taken", f"{path} is being recorded already")
        recorder = Recorder(server.dispatcher, server.services, match, path, size_max)
        self._layers.put(recorder.dispatch)
        self._last_id += 1
        self._by_id[self._last_id] = recorder
        return self._last_id

    def _end(self, number: int, is_kept: bool) -> dict[str, Any]:
        if number not in self._by_id:
            known = ", ".join(map(str, self._by_id)) or "none"
            raise refusal(f"there is no recording {number}; those that go on: {known}")
        recorder = self._by_id.pop(number)
        self._layers.take_away(recorder.dispatch)
        return recorder.end() if is_kept else recorder.give_up()

    async def _replay(self, fields: Fields) -> Items:
        path = _absolute(fields)
        mask = fields.texts("mask", [])
        timeout_ms = fields.number(
            "timeout_ms", _TIMEOUT_MS, at_least=1, at_most=_TIMEOUT_MS_MAX
        )
        addresses = self._addresses(fields.text("bootstrap", None))
        security = _security(fields.mapping("client", {}))
        fields.end()

        def opened() -> Player:  # in the thread, since it reads the file
            from odradek.client.replay.player import Player
            from odradek.client.replay.recording import Recording

            return Player(
                Recording(path),
                addresses,
                security=security,
                timeout_s=timeout_ms / 1000,
                mask=mask,
            )

        is_over = threading.Event()
        try:
            for item in await asyncio.to_thread(_played, opened, is_over):
                yield item
        finally:
            is_over.set()  # who asked may have gone

    def _addresses(self, bootstrap: str | None) -> list[Address]:
        from odradek.client.address import Address, parse_addresses

        if bootstrap is not None:
            try:
                return parse_addresses(bootstrap)
            except ValueError as error:
                raise refusal(f"bootstrap: {error}") from None
        ports = {each.name: each.port for each in self._server.listeners}
        return [
            Address(each.reached_at, ports[each.name])
            for each in self._server.config.client_listeners
            if each.name in ports
        ]


def _played(
    opened: Callable[[], Player], is_over: threading.Event
) -> list[dict[str, Any]]:
    """In a thread: the broker answers meanwhile."""
    from odradek.client.replay.recording import BadRecording
    from odradek.protocol.errors import KafkaError, MalformedRequest

    items: list[dict[str, Any]] = []
    count = 0
    try:
        with opened() as player:
            for difference in player.play(is_over.is_set):
                count += 1
                if len(items) < _DIFFERENCES_MAX:
                    items.append({"difference": difference._asdict()})
    except BadRecording as error:
        raise AdminError("bad-recording", str(error)) from None
    except (KafkaError, MalformedRequest, OSError) as error:
        raise AdminError("failed", f"no replay: {error}") from None
    return [*items, {"calls": player.calls, "differences": count}]


def _absolute(fields: Fields) -> Path:
    path = Path(fields.text("path"))
    if not path.is_absolute():
        raise refusal(f"path is {str(path)!r}; it is an absolute one")
    return path


def _security(options: dict[str, Any]) -> Security | None:
    from odradek.client.security.options import read_security

    if not options:
        return None
    try:
        return read_security({name: str(value) for name, value in options.items()})
    except (ValueError, OSError) as error:
        raise refusal(f"client: {error}") from None
