"""A broker for tests in this process, and requests to it by TCP."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, TypeVar

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.listener import Listener as Address
from odradek.broker.control.server import ControlledServer
from odradek.client.connection import Connection
from tests.patience import PATIENCE_S

Result = TypeVar("Result")


@contextlib.asynccontextmanager
async def controlled(data_dir: Path, **options: Any) -> AsyncIterator[ControlledServer]:
    """It must meet no bug."""
    config = BrokerConfig(
        log_dirs=(data_dir,),
        listeners=(Address("PLAINTEXT", "127.0.0.1", 0),),
        log_min_free_bytes=0,
        durability="none",
        test_control=True,
        **options,
    )
    server = ControlledServer(config)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
        assert server.bugs.count == 0


async def with_client(
    server: ControlledServer,
    talk: Callable[[Connection], Result],
    client_id: str = "test",
) -> Result:
    """What ``talk`` returns, which may block."""
    port = server.listeners[0].port

    def run() -> Result:
        connection = Connection(
            "127.0.0.1", port, timeout_s=PATIENCE_S, client_id=client_id
        )
        with connection:
            return talk(connection)

    return await asyncio.to_thread(run)
