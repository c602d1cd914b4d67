"""What a broker says of itself when it is ready, and where it is to be found."""

import json
from pathlib import Path

from odradek.broker.config.options.listener import HostPort
from odradek.broker.node.server import Server
from tests.broker.node.test_server import config, running


async def test_it_says_where_it_listens_and_what_it_promises(tmp_path: Path) -> None:
    async with running(tmp_path / "data") as server:
        port = server.listeners[0].port
        assert server.ready_line() == (
            f"odradek ready on 127.0.0.1:{port}, data in {tmp_path}/data, "
            "durability commit"
        )


async def test_where_lines_are_json_so_is_this_one(tmp_path: Path) -> None:
    options = {
        "logging_format": "json",
        "http_listener": HostPort("127.0.0.1", 0),
    }
    async with running(tmp_path / "data", **options) as server:
        told = json.loads(server.ready_line())
        port = server.listeners[0].port
        assert told["message"].startswith(f"odradek ready on 127.0.0.1:{port}, data in")
        assert told["listeners"] == [
            {"name": "PLAINTEXT", "host": "127.0.0.1", "port": port}
        ]
        assert told["http_port"] == server.http_port
        assert told["data"] == [f"{tmp_path}/data"]
        assert told["durability"] == "commit"
        assert told["level"] == "INFO"


async def test_words_of_others_are_lines_of_the_same_kind(tmp_path: Path) -> None:
    words = ("[KafkaServer id=1] started", "from A to B")
    async with running(tmp_path / "data", ready_words=words) as server:
        ready, *others = server.ready_line().split("\n")
        assert ready.startswith("odradek ready on")
        assert tuple(others) == words
    options = {"ready_words": words, "logging_format": "json"}
    async with running(tmp_path / "data", **options) as server:
        _, *others = map(json.loads, server.ready_line().split("\n"))
        assert tuple(each["message"] for each in others) == words


async def test_strangers_are_told_the_port_that_http_really_has(tmp_path: Path) -> None:
    address = HostPort("127.0.0.1", 0)
    async with running(tmp_path / "data", http_listener=address) as server:
        assert server.http_port
        assert server._network.http_address() == HostPort("127.0.0.1", server.http_port)
    async with running(tmp_path / "data") as server:
        assert server._network.http_address() is None


def test_a_relative_directory_is_shown_as_one() -> None:
    server = Server(config(Path("data"), durability="none"))
    assert server.ready_line().endswith("data in ./data, durability none")
