"""Recordings and replays, by what the two doors of a broker answer."""

from pathlib import Path
from typing import Any

import pytest

from odradek.broker.control.server import ControlledServer
from odradek.client.connection import Connection
from odradek.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from tests.broker.control.asked import answer, refused
from tests.broker.control.served import controlled, with_client

TOPIC = [{"name": "t", "partitions": 1}]


def requests(server: ControlledServer) -> Any:
    return server._control_requests


async def recorded(directory: Path, path: Path) -> None:
    async with controlled(directory / "recorded") as server:
        await answer(requests(server), "topics.create", topics=TOPIC)
        path_text = str(path)
        [begun] = await answer(requests(server), "recording.begin", path=path_text)
        text = await refused(requests(server), "recording.begin", path=path_text)
        assert text == f"taken: {path} is being recorded already"
        await with_client(server, ask_for_topic)
        [ended] = await answer(requests(server), "recording.end", **begun)
        assert ended["calls"] == 2  # ApiVersions and Metadata
        assert await refused(requests(server), "recording.end", **begun) == (
            "bad-request: there is no recording 1; those that go on: none"
        )
        assert server.dispatcher.layers == []


def ask_for_topic(connection: Connection) -> None:
    topics = [MetadataRequestTopic(name="t")]
    request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
    assert connection.request(request, MetadataResponse).topics


def names_in(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()]


async def test_the_same_broker_answers_the_same(tmp_path: Path) -> None:
    path = tmp_path / "r"
    await recorded(tmp_path, path)
    async with controlled(tmp_path / "other") as server:
        ask = requests(server)
        *differences, end = await answer(ask, "replay", path=str(path))
        assert end == {"calls": 2, "differences": len(differences)}
        first = differences[0]["difference"]
        assert first["api"] == "Metadata"
        assert (first["recorded"], first["found"]) == (
            "NONE",
            "UNKNOWN_TOPIC_OR_PARTITION",
        )
        masked = await answer(ask, "replay", path=str(path), mask=["topics"])
        assert masked == [{"calls": 2, "differences": 0}]
        await answer(ask, "topics.create", topics=TOPIC)
        bootstrap = f"127.0.0.1:{server.listeners[0].port}"
        for given in ({}, {"bootstrap": bootstrap}):
            items = await answer(ask, "replay", path=str(path), **given)
            assert items == [{"calls": 2, "differences": 0}]


async def test_what_makes_no_sense_is_refused(tmp_path: Path) -> None:
    async with controlled(tmp_path / "data") as server:
        ask, path = requests(server), str(tmp_path / "r")
        for name in ("recording.begin", "replay"):
            text = await refused(ask, name, path="r")
            assert text == "bad-request: path is 'r'; it is an absolute one"
        match = {"api": "Produc"}
        text = await refused(ask, "recording.begin", path=path, match=match)
        assert text == "bad-request: there is no API 'Produc'; did you mean Produce?"
        text = await refused(ask, "replay", path=path)
        assert text == f"bad-recording: there is no recording at {path}"
        text = await refused(ask, "replay", path=path, bootstrap="nowhere:port")
        assert text.startswith("bad-request: bootstrap: 'nowhere:port' is not an")
        client = {"security.protocl": "SSL"}
        text = await refused(ask, "replay", path=path, client=client)
        assert "security.protocol" in text
        assert not (tmp_path / "r.partial").exists()


async def test_a_broker_that_cannot_be_reached_is_said(tmp_path: Path) -> None:
    path = tmp_path / "r"
    await recorded(tmp_path, path)
    async with controlled(tmp_path / "data") as server:
        ask = requests(server)
        given = {"path": str(path), "bootstrap": "127.0.0.1:1"}
        text = await refused(ask, "replay", **given)
        assert text.startswith("failed: no replay: 127.0.0.1:1: ")


@pytest.mark.parametrize("is_kept", [True, False])
async def test_a_broker_that_stops_leaves_nothing_half(
    tmp_path: Path, is_kept: bool
) -> None:
    path = tmp_path / "r"
    async with controlled(tmp_path / "data") as server:
        ask = requests(server)
        [begun] = await answer(ask, "recording.begin", path=str(path))
        if not is_kept:
            await answer(ask, "recording.end", **begun, keep=False)
    assert names_in(tmp_path) == ["data"]
