"""What is written down of requests that pass."""

import errno
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.control.faults.match import Match
from odradek.broker.control.recording.recorder import Recorder
from odradek.broker.operate.admin_socket import AdminError
from odradek.client.replay.recording import Answered, Asked, BadRecording, Recording
from odradek.protocol.headers import decode_response
from odradek.protocol.messages.produce import ProduceResponse
from tests.fakes.faulty import Faulty, faulty
from tests.fakes.network import settle
from tests.fakes.traced import PRODUCE_VERSION, commit, fetch, produce


def recorder(
    broker: Faulty, path: Path, size_max: int = 1 << 20, **match: Any
) -> Recorder:
    services: Any = broker.broker.services
    wanted = Match.of(match, broker.metadata)
    made = Recorder(broker.dispatcher, services, wanted, path, size_max)
    broker.layers.put(made.dispatch)
    return made


def events(path: Path) -> list[tuple[Any, ...]]:
    """The API of each request, and what became of it."""
    return [
        (each.call, each.api, each.connection)
        if isinstance(each, Asked)
        else (each.call, each.outcome or "answered")
        for each in Recording(path).events()
    ]


def names_in(directory: Path) -> list[str]:
    return [each.name for each in directory.iterdir()]


async def test_requests_and_answers_are_kept_as_they_pass(tmp_path: Path) -> None:
    async with faulty(tmp_path / "data") as broker:
        made = recorder(broker, tmp_path / "deep" / "r")
        await broker.send(fetch(0, max_wait_ms=10_000))  # it waits
        other = broker.connect()
        other.feed(produce(1) + produce(1, acks=0))
        await settle()
        await broker.broker.clock.tick(20_000)
        await broker.send(produce(0))
        described = made.end()
        assert described["calls"] == 4
    path = tmp_path / "deep" / "r"
    assert described["bytes"] == path.stat().st_size
    assert events(path) == [
        (1, "Fetch", 1),
        (2, "Produce", 2),
        (2, "answered"),
        (3, "Produce", 2),
        (3, "unanswered"),
        (1, "answered"),
        (4, "Produce", 1),
        (4, "answered"),
    ]
    asked = [each for each in Recording(path).events() if isinstance(each, Asked)]
    assert asked[1].request == produce(1)[4:]
    assert asked[1].client_id == "client"


async def test_an_answer_is_what_the_client_was_sent(tmp_path: Path) -> None:
    """Also where a rule has made it another, and where the short way was taken."""
    async with faulty(tmp_path / "data") as broker:
        made = recorder(broker, tmp_path / "r", api="Produce")
        await broker.send(produce(0) * 3)
        match = {"api": "Produce", "partition": 1}
        broker.arm(match=match, error={"code": "CORRUPT_MESSAGE"})
        await broker.send(produce(0, 1))
        made.end()
        sent = broker.answers(ProduceResponse, PRODUCE_VERSION)
    kept = [
        decode_response(each.answer, ProduceResponse, PRODUCE_VERSION)[1]
        for each in Recording(tmp_path / "r").events()
        if isinstance(each, Answered) and each.answer is not None
    ]
    assert kept == sent
    assert len(sent) == 4


async def test_what_a_fault_has_damaged_is_said(tmp_path: Path) -> None:
    async with faulty(tmp_path / "data") as broker:
        made = recorder(broker, tmp_path / "r")
        broker.arm(match={"api": "Produce"}, garble={"bits": 3}, when={"times": 1})
        await broker.send(produce(0))
        broker.arm(match={"api": "Produce"}, drop={"at": "after"})
        await broker.send(produce(0))
        made.end()
    outcomes = [each[1] for each in events(tmp_path / "r") if len(each) == 2]
    assert outcomes == ["broken", "unanswered"]


async def test_a_request_that_cannot_be_read_fails(tmp_path: Path) -> None:
    async with faulty(tmp_path / "data") as broker:
        made = recorder(broker, tmp_path / "r")
        await broker.send(b"\0\0\0\x08" + b"\x03\xe7\0\0\0\0\0\x01")  # API 999
        made.end()
    assert events(tmp_path / "r") == [(1, "999", 1), (1, "failed")]


async def test_only_what_matches_is_kept(tmp_path: Path) -> None:
    async with faulty(tmp_path / "data") as broker:
        made = recorder(broker, tmp_path / "r", topic="t", partition=1)
        await broker.send(produce(0) + produce(1) + commit())
        assert made.end()["calls"] == 1
        other = recorder(broker, tmp_path / "other", client_id="nob*")
        await broker.send(produce(0))
        assert other.end()["calls"] == 0


async def test_until_the_end_there_is_half_a_file(tmp_path: Path) -> None:
    async with faulty(tmp_path / "data") as broker:
        made = recorder(broker, tmp_path / "r")
        with pytest.raises(BadRecording, match=r"there is only r\.partial"):
            Recording(tmp_path / "r")
        made.give_up()
        await broker.send(produce(0))
    assert names_in(tmp_path) == ["data"]


async def test_one_that_grows_too_large_ends(tmp_path: Path) -> None:
    async with faulty(tmp_path / "data") as broker:
        made = recorder(broker, tmp_path / "r", size_max=500)
        await broker.send(produce(0) * 9)
        with pytest.raises(AdminError, match=r"larger than 500 bytes \(size_max\)"):
            made.end()
        assert names_in(tmp_path) == ["data"]
        assert len(broker.codes()) == 9  # clients notice nothing


async def test_a_full_disk_ends_it_and_clients_notice_nothing(tmp_path: Path) -> None:
    class Full:
        closed = False

        def write(self, data: bytes) -> int:
            raise OSError(errno.ENOSPC, "No space left on device")

        def close(self) -> None:
            """Nothing is held."""

    async with faulty(tmp_path / "data") as broker:
        made = recorder(broker, tmp_path / "r")
        made._file.close()
        made._file = Full()  # type: ignore[assignment]
        await broker.send(produce(0) * 2)
        assert len(broker.codes()) == 2
        with pytest.raises(AdminError, match=r"no recording in .*No space left"):
            made.end()


async def test_a_place_that_cannot_be_written_to_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    async with faulty(tmp_path / "data") as broker:
        with pytest.raises(AdminError, match="no recording in"):
            recorder(broker, tmp_path / "file" / "r")
