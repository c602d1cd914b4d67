"""A connection on which requests are asked and answered, from asyncio."""

import asyncio
import contextlib
from struct import Struct
from typing import Any

from odradek.protocol.headers import decode_response, encode_request
from odradek.protocol.schema import RESPONSES, Request

_LENGTH = Struct(">i")
_ID = Struct(">i")


class AsyncLink:
    """Many requests may be in flight; each waits for the answer with its number."""

    def __init__(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        client_id: str,
    ) -> None:
        self.client_id = client_id
        self._reader = reader
        self._writer = writer
        self._next_id = 0
        self._waiting: dict[int, asyncio.Future[memoryview]] = {}
        self._task = asyncio.create_task(self._read(), name=f"link of {client_id}")

    @classmethod
    async def open(cls, address: str, client_id: str = "link") -> "AsyncLink":
        """Connect to ``HOST:PORT``."""
        host, _, port = address.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)), client_id)

    @property
    def is_closed(self) -> bool:
        """Whether nothing can be asked on it any more."""
        return self._task.done()

    async def request(self, request: Request, version: int) -> Any:
        """The answer.

        Raises:
            ConnectionError: the connection was closed before it came.
        """
        if self.is_closed:
            raise ConnectionResetError("the link is closed")
        number = self._next_id
        self._next_id += 1
        answer = asyncio.get_running_loop().create_future()
        self._waiting[number] = answer
        try:
            self._writer.write(encode_request(request, version, number, self.client_id))
            frame = await answer
        finally:
            self._waiting.pop(number, None)
        return decode_response(frame, RESPONSES[request.api_key], version)[1]

    async def _read(self) -> None:
        try:
            with contextlib.suppress(OSError, asyncio.IncompleteReadError):
                while True:
                    size = _LENGTH.unpack(await self._reader.readexactly(4))[0]
                    frame = memoryview(await self._reader.readexactly(size))
                    waiting = self._waiting.get(_ID.unpack_from(frame)[0])
                    if waiting is not None and not waiting.done():
                        waiting.set_result(frame)
        finally:
            self._writer.close()
            for each in self._waiting.values():
                if not each.done():
                    each.set_exception(ConnectionResetError("the link was closed"))

    async def close(self) -> None:
        """Close it; who waits for an answer gets a ``ConnectionError``."""
        self._task.cancel()
        await asyncio.wait([self._task])
        with contextlib.suppress(OSError):
            await self._writer.wait_closed()
