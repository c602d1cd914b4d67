from pathlib import Path

from tests.broker.control.test_server import ask, steered
from tests.broker.operate.metrics.served import HTTP


async def test_every_port_is_told(tmp_path: Path) -> None:
    async with steered(tmp_path, http_listener=HTTP) as server:
        kafka, http, done = await ask(tmp_path, "addresses", {})
        assert kafka["item"] == {
            "name": "PLAINTEXT",
            "protocol": "kafka",
            "host": "127.0.0.1",
            "port": server.listeners[0].port,
        }
        assert http["item"] == {
            "name": "http.listener",
            "protocol": "http",
            "host": "127.0.0.1",
            "port": server.http_port,
        }
        assert done == {"done": True}
    async with steered(tmp_path):
        kafka, done = await ask(tmp_path, "addresses", {})
        assert done == {"done": True}
