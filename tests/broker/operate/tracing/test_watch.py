"""Functions are watched in one thread, and left as they were."""

import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

from odradek.broker.operate.tracing.watch import NoWatch, Watch, watch_of


def doubled(number: int) -> int:
    return 2 * number


def unwatched(number: int) -> int:
    return doubled(number) + 1


class Seen:
    """What a watch has told."""

    def __init__(self) -> None:
        self.events: list[tuple[str, bool, Any]] = []

    def __call__(self, frame: FrameType, is_return: bool, value: Any) -> None:
        self.events.append((frame.f_code.co_name, is_return, value))
        assert frame.f_locals["number"] == 4


@pytest.fixture
def seen() -> Seen:
    return Seen()


@pytest.fixture
def watch(seen: Seen) -> Iterator[Watch]:
    watch = watch_of([doubled.__code__], seen)
    yield watch
    watch.stop()


def test_calls_and_returns_of_what_is_watched(watch: Watch, seen: Seen) -> None:
    assert unwatched(4) == 9
    assert seen.events == []
    watch.start()
    watch.start()
    assert unwatched(4) == 9
    watch.stop()
    watch.stop()
    assert unwatched(4) == 9
    assert seen.events == [("doubled", False, None), ("doubled", True, 8)]


def test_it_may_begin_again(watch: Watch, seen: Seen) -> None:
    for count in (2, 4, 6):
        watch.start()
        doubled(4)
        watch.stop()
        assert len(seen.events) == count


def test_other_threads_are_not_watched(watch: Watch, seen: Seen) -> None:
    watch.start()
    thread = threading.Thread(target=doubled, args=(4,))
    thread.start()
    thread.join()
    watch.stop()
    assert seen.events == []


def test_it_may_stop_in_the_middle(seen: Seen) -> None:
    def see(frame: FrameType, is_return: bool, value: Any) -> None:
        seen(frame, is_return, value)
        watch.stop()

    watch = watch_of([doubled.__code__], see)
    watch.start()
    doubled(4)
    assert seen.events == [("doubled", False, None)]


def test_who_watches_already_is_not_disturbed(watch: Watch, seen: Seen) -> None:
    if sys.version_info >= (3, 12):
        taken = [each for each in (3, 4) if sys.monitoring.get_tool(each) is None]
        for tool in taken:
            sys.monitoring.use_tool_id(tool, "test")
        with pytest.raises(NoWatch):
            watch.start()
        for tool in taken:
            sys.monitoring.free_tool_id(tool)
        return
    called: list[str] = []
    sys.setprofile(lambda frame, event, value: called.append(event))
    try:
        with pytest.raises(NoWatch):
            watch.start()
        count = len(called)
        doubled(4)
        assert len(called) > count
    finally:
        sys.setprofile(None)
    assert seen.events == []
