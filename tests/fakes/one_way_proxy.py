"""A proxy before a broker that loses what goes one way, and delivers it late.

What is sent while it is lost is held, as a network holds what is sent again and again:
who is still there when it heals gets it then.
"""

import asyncio
import contextlib
import threading

TO, FROM = 0, 1


class OneWayProxy:
    """Listens from the start, in a thread of its own; ``port`` is where."""

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._loop = asyncio.new_event_loop()
        self._gates = asyncio.Event(), asyncio.Event()
        for each in self._gates:
            each.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._thread = threading.Thread(target=self._loop.run_forever)
        self._thread.start()
        listening = asyncio.start_server(self._serve, "127.0.0.1", 0)
        server = asyncio.run_coroutine_threadsafe(listening, self._loop).result()
        self._server = server
        self.port: int = server.sockets[0].getsockname()[1]

    def lose(self, way: int) -> None:
        """What goes to the broker, or comes from it."""
        self._loop.call_soon_threadsafe(self._gates[way].clear)

    def heal(self) -> None:
        """Nothing is lost any more."""
        for each in self._gates:
            self._loop.call_soon_threadsafe(each.set)

    def close(self) -> None:
        """Close every connection, and listen no more."""
        asyncio.run_coroutine_threadsafe(self._close(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _close(self) -> None:
        self._server.close()
        for each in self._tasks:
            each.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        with contextlib.closing(writer), contextlib.suppress(OSError):
            there = await asyncio.open_connection("127.0.0.1", self._target_port)
            with contextlib.closing(there[1]):
                await asyncio.gather(
                    self._pass_on(TO, reader, there[1]),
                    self._pass_on(FROM, there[0], writer),
                )

    async def _pass_on(
        self, way: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        while data := await reader.read(1 << 16):
            await self._gates[way].wait()
            writer.write(data)
            await writer.drain()
        await self._gates[way].wait()
        writer.close()
