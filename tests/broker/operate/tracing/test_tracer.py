"""Requests are followed; what is not asked for, or not any more, is left alone."""

import sys
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.operate.tracing.tracer import Ask
from odradek.broker.operate.tracing.watch import NoWatch, Watch
from tests.fakes.network import settle
from tests.fakes.traced import (
    Traced,
    commit,
    fetch,
    produce,
    steps_of,
    texts_of,
    traced,
)


def ended(ask: Ask) -> dict[str, Any]:
    """The request that has ended first."""
    trace = ask.done.get_nowait()
    assert trace is not None
    item = trace.as_item()
    times = [step["atUs"] for step in item["steps"]]
    assert times == sorted(times)
    assert times[0] == 0
    return item


async def warm(broker: Traced, *frames: bytes) -> None:
    """Let requests like these be known by their bytes."""
    for frame in frames * 3:
        await broker.send(frame)
        await broker.broker.commit()
        await settle()


async def test_a_produce_by_the_short_way(tmp_path: Path) -> None:
    async with traced(tmp_path) as broker:
        await warm(broker, produce())
        ask = broker.ask_for("produce")
        before = broker.answer_count
        await broker.send(produce())
        assert ask.done.empty()
        await broker.broker.commit()
        await settle()
        assert broker.answer_count == before + 1
        item = ended(ask)
        assert steps_of(item) == [
            "Connection.buffer_updated",
            "Appends.append_one",
            "Partition.append_usual",
            "LogSegment.append_usual",
            "OsFile.append",
            "AwaitingAppends.add",
            "ResponseQueue.park",
            "ResponseQueue._answered",
            "ResponseQueue._drain",
            "ResponseQueue.flush",
            "ResponseQueue.flush",
        ]
        texts = texts_of(item)
        size = len(produce()) - 4
        assert texts[0] == f"the whole frame is there: {size} bytes"
        assert texts[1].startswith("known by its bytes: t-0, acks=all, a batch of ")
        assert "gets offsets 3 to 3" in texts[3]
        assert "written at position" in texts[4]
        assert texts[5] == "its answer waits for the high watermark to pass 4"
        assert item["steps"][4]["file"] == "storage/files/files.py"
        del item["steps"]
        assert item == {
            "api": 0,
            "version": 12,
            "correlationId": 77,
            "clientId": "client",
            "peer": "127.0.0.1:50000",
            "size": size,
            "way": "short",
            "outcome": "answered",
            "error": None,
        }
        broker.tracer.end(ask)


async def test_a_produce_by_the_long_way_and_its_error(tmp_path: Path) -> None:
    async with traced(tmp_path, durability="none") as broker:
        ask = broker.ask_for("produce", topic="t")
        await broker.send(produce(0, 7))
        item = ended(ask)
        assert (item["way"], item["error"]) == ("long", "UNKNOWN_TOPIC_OR_PARTITION")
        assert steps_of(item)[:5] == [
            "Connection.buffer_updated",
            "Dispatcher.dispatch_whole",
            "handle_produce",
            "Appends.append",
            "Partition.append",
        ]
        assert texts_of(item)[2] == "decoded: acks=all, batches for t-0, t-7"
        broker.tracer.end(ask)


async def test_a_produce_without_an_answer(tmp_path: Path) -> None:
    async with traced(tmp_path) as broker:
        ask = broker.ask_for("produce")
        await broker.send(produce(acks=0))
        item = ended(ask)
        assert item["outcome"].startswith("handled, and not answered")
        assert broker.answer_count == 0
        broker.tracer.end(ask)


async def test_a_fetch_that_waits_and_is_woken(tmp_path: Path) -> None:
    async with traced(tmp_path, durability="none") as broker:
        await warm(broker, produce(acks=1), fetch(0))
        ask = broker.ask_for("fetch")
        await broker.send(fetch(3))
        assert ask.done.empty()
        writer = broker.connect()
        writer.feed(produce(acks=1))
        await settle()
        item = ended(ask)
        functions, texts = steps_of(item), texts_of(item)
        assert functions[1:4] == [
            "FetchExecutor.fetch_one",
            "read_partition",
            "DelayedFetch",
        ]
        again = functions.index("FetchExecutor._again")
        assert texts[again] == "woken by an append: reads again"
        assert "read_partition" in functions[again:]
        # What the produce itself does is none of it.
        assert "Partition.append_usual" not in functions
        assert functions[-1] == "ResponseQueue.flush"
        broker.tracer.end(ask)


async def test_a_fetch_whose_time_is_over(tmp_path: Path) -> None:
    async with traced(tmp_path, durability="none") as broker:
        await warm(broker, produce(acks=1))
        ask = broker.ask_for("fetch")
        await broker.send(fetch(3, max_wait_ms=100))
        broker.broker.clock.advance(200)
        await settle()
        assert "woken by the end of its time: reads again" in texts_of(ended(ask))
        broker.tracer.end(ask)


async def test_a_fetch_that_joins_others(tmp_path: Path) -> None:
    async with traced(tmp_path, durability="none") as broker:
        await warm(broker, produce(acks=1), fetch(0))
        first = broker.connect()
        first.feed(fetch(3))
        await settle()
        ask = broker.ask_for("fetch")
        await broker.send(fetch(3))
        writer = broker.connect()
        writer.feed(produce(acks=1))
        await settle()
        texts = texts_of(ended(ask))
        assert "waits with 1 who want the same" in texts
        assert any(text.endswith("for 2 who wait") for text in texts)
        broker.tracer.end(ask)


async def test_only_what_is_wanted_is_followed(tmp_path: Path) -> None:
    async with traced(tmp_path, durability="none") as broker:
        await broker.broker.create_topic("other")
        asks = [
            broker.ask_for("produce", topic="other"),
            broker.ask_for("produce", client_id="else"),
            broker.ask_for("produce", 2),
        ]
        for frame in (fetch(0, 0), produce(), produce(topic="other"), produce()):
            await broker.send(frame)
        assert [ask.done.qsize() for ask in asks] == [1, 0, 2]
        await broker.send(produce(client="else"))
        assert [ask.done.qsize() for ask in asks] == [1, 1, 2]
        for ask in asks:
            broker.tracer.end(ask)


async def test_two_who_ask_for_the_same_see_the_same(tmp_path: Path) -> None:
    async with traced(tmp_path, durability="none") as broker:
        asks = [broker.ask_for("produce"), broker.ask_for("produce")]
        await broker.send(produce())
        first, second = [ask.done.get_nowait() for ask in asks]
        assert first is second
        for ask in asks:
            broker.tracer.end(ask)


async def test_nothing_is_left_when_nobody_asks_any_more(tmp_path: Path) -> None:
    async with traced(tmp_path) as broker:
        (connection,) = broker.listener.connections
        before, profile = connection._dispatch, sys.getprofile()
        ask = broker.ask_for("produce")
        assert connection._dispatch != before
        await broker.send(produce())  # on its way
        late = broker.connect()
        broker.tracer.end(ask)
        assert broker.tracer.is_idle
        assert broker.dispatcher.entry == broker.dispatcher.dispatch
        assert {each._dispatch for each in broker.listener.connections} == {before}
        assert sys.getprofile() is profile
        late.feed(produce())
        await broker.broker.commit()
        await settle()
        assert broker.answer_count == 1
        assert late.sent


class NotedWatch:
    """A watch, and when it was on."""

    def __init__(self, watch: Watch) -> None:
        self.seen: list[str] = []
        self._watch = watch

    def start(self) -> None:
        self.seen.append("on")
        self._watch.start()

    def stop(self) -> None:
        self.seen.append("off")
        self._watch.stop()


async def test_it_watches_only_while_a_request_is_on_its_way(tmp_path: Path) -> None:
    async with traced(tmp_path) as broker:
        noted = NotedWatch(broker.tracer._watch)
        seen, broker.tracer._watch = noted.seen, noted
        ask = broker.ask_for("produce", 2)
        seen.clear()  # it has been tried
        await broker.send(fetch(0, 0))
        assert seen == []
        await broker.send(produce())
        assert seen == ["on"]
        await broker.broker.commit()
        await settle()
        assert seen[-1] == "off"
        broker.tracer.end(ask)


async def test_a_connection_that_goes(tmp_path: Path) -> None:
    async with traced(tmp_path) as broker:
        ask = broker.ask_for("produce")
        await broker.send(produce())
        broker.transport.lose()
        await settle()
        item = ended(ask)
        assert item["outcome"] == "not answered: the connection is gone"
        broker.tracer.end(ask)


async def test_a_commit(tmp_path: Path) -> None:
    async with traced(tmp_path) as broker:
        await broker.broker.services.groups.create_topic()
        broker.broker.services.groups.load_all()
        ask = broker.ask_for("commit", group="g")
        await broker.send(commit("h"))
        await broker.send(commit("g"))
        await broker.broker.commit()
        await settle()
        functions = steps_of(ended(ask))
        expected = [
            "handle_offset_commit",
            "Shard.act",
            "decide_commit",
            "Shard._append_together",
            "Partition.append",
            "OsFile.append",
            "Shard._replay",
            "AwaitingAppends.add",
            "ResponseQueue.park",
            "ResponseQueue._drain",
        ]
        assert [each for each in functions if each in expected] == expected
        broker.tracer.end(ask)
        ask = broker.ask_for("commit", group="g")
        await broker.send(commit("g"))
        await broker.broker.commit()
        await settle()
        functions = steps_of(ended(ask))
        expected = [
            "commit",
            "Shard.write_usual",
            "Partition.append_usual",
            "OsFile.append",
            "GroupShard.replay_usual",
            "AwaitedSync.add",
            "ResponseQueue.park",
            "ResponseQueue._drain",
        ]
        assert [each for each in functions if each in expected] == expected
        broker.tracer.end(ask)
        await broker.broker.services.groups.close()


async def test_requests_that_follow_each_other_are_kept_apart(tmp_path: Path) -> None:
    async with traced(tmp_path) as broker:
        await warm(broker, produce())
        ask = broker.ask_for("produce", 3)
        await broker.send(produce() * 3)
        await broker.broker.commit()
        await settle()
        items = [ended(ask) for _ in range(3)]
        offsets = [
            [text for text in texts_of(item) if "gets offsets" in text]
            for item in items
        ]
        assert [len(each) for each in offsets] == [1, 1, 1]
        assert [each[0][-6:] for each in offsets] == ["3 to 3", "4 to 4", "5 to 5"]
        assert any("behind 2 others" in text for text in texts_of(items[2]))
        broker.tracer.end(ask)


async def test_a_bug_of_a_station_is_no_bug_of_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with traced(tmp_path, durability="none") as broker:
        await warm(broker, produce(acks=1))

        def break_(*_: object) -> None:
            raise RuntimeError("expected by this test")

        ask = broker.ask_for("produce")
        monkeypatch.setattr(broker.tracer, "_pass", break_)
        before = broker.answer_count
        await broker.send(produce(acks=1))
        assert broker.answer_count == before + 1
        assert {str(error) for error in broker.broker.bugs} == {"expected by this test"}
        broker.broker.bugs.clear()
        broker.tracer.end(ask)


async def test_nobody_is_watched_by_two(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with traced(tmp_path, durability="none") as broker:
        ask = broker.ask_for("produce")

        def refuse() -> None:
            raise NoWatch("others watch")

        monkeypatch.setattr(broker.tracer._watch, "start", refuse)
        await broker.send(produce())
        assert broker.answer_count == 1
        with pytest.raises(NoWatch):
            broker.ask_for("produce")
        broker.tracer.end(ask)
