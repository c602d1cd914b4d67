"""The ways of requests through a running broker: every call of a function of ours.

    python bench/walks.py               # the counts that ARCHITECTURE.md names
    python bench/walks.py produce-all   # each call of that one, in order

The broker runs here, with a socket and with files; its client in a thread that nobody
looks at. Every request is asked several times, and the shortest way counts: what is
done now and then belongs to no request. Generated code (decoders and encoders) and
comprehensions are not counted, nor what the threads for the disk do.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "parts"))

from tables import table  # noqa: E402
from walking_client import Asker  # noqa: E402

from odradek.broker.config.options.broker_config import BrokerConfig  # noqa: E402
from odradek.broker.config.options.listener import Listener  # noqa: E402
from odradek.broker.node.server import Server  # noqa: E402
from odradek.broker.runtime.process import loop_factory  # noqa: E402

ROOT = HERE.parent
REPEATS = 8
SETTLE_S = 0.25  # until all is done that a request leads to
IN_C = ("posix.pwrite", "odradek.broker.durability.sync_thread.begin")


class Call(NamedTuple):
    """A function that was called; of ours in Python, or one of those `IN_C`."""

    depth: int
    path: str
    name: str

    @property
    def is_counted(self) -> bool:
        """Whether it is ours, and in a file."""
        return self.path.endswith(".py")


class Tracer:
    """Notes the calls in the thread of the event loop, while it is on."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.is_on = False
        self._paths: dict[str, str] = {}

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if not self.is_on:
            return
        if event == "call":
            path, name = self._path(frame.f_code.co_filename), frame.f_code.co_qualname
            if path and not name.endswith(("comp>", "<genexpr>")):
                self.calls.append(Call(_depth(frame), path, name))
        elif event == "c_call":
            name = f"{argument.__module__}.{argument.__qualname__}"
            if name in IN_C:
                self.calls.append(Call(_depth(frame) + 1, "", name))

    def _path(self, file: str) -> str:
        """As it is called in the repository; nothing for what is not ours."""
        if file not in self._paths:
            path = Path(file).resolve()
            is_ours = path.is_file() and path.is_relative_to(ROOT)
            ours = str(path.relative_to(ROOT)) if is_ours else ""
            self._paths[file] = "" if ours.startswith((".", "bench")) else ours
        return self._paths[file]


def _depth(frame: Any) -> int:
    depth = 0
    while frame.f_back is not None:
        frame, depth = frame.f_back, depth + 1
    return depth


class Walk(NamedTuple):
    """A kind of request: what is asked before it, the request, what behind it."""

    name: str
    title: str
    ask: Callable[[Asker], Any]
    before: Callable[[Asker], Any] = Asker.nothing
    after: Callable[[Asker], Any] = Asker.nothing


WALKS = (
    Walk("produce-1", "Produce, acks=1", Asker.produce_one, Asker.produce_one),
    Walk("produce-all", "Produce, acks=all", Asker.produce_all, Asker.produce_all),
    Walk(
        "produce-two",
        "Produce to two partitions",
        Asker.produce_two,
        before=Asker.produce_two,
    ),
    Walk("fetch", "Fetch of the last batch", Asker.fetch),
    Walk("fetch-session", "the same in a session", Asker.fetch_in_session),
    Walk("fetch-wait", "Fetch that waits", Asker.wait, after=Asker.wake),
    Walk(
        "fetch-wake",
        "Produce that wakes it",
        Asker.write,
        before=Asker.write_and_wait,
        after=Asker.hear,
    ),
    Walk("commit", "OffsetCommit", Asker.commit, Asker.commit),
    Walk("begin", "first Produce of a transaction", Asker.begin, after=Asker.end),
    Walk("end", "EndTxn", Asker.end, Asker.begin),
    Walk("alter", "IncrementalAlterConfigs", Asker.alter, Asker.choose),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = [walk.name for walk in WALKS]
    parser.add_argument("walk", nargs="?", choices=names, help="show each of its calls")
    name = parser.parse_args().walk
    chosen = [walk for walk in WALKS if name in (None, walk.name)]
    tracer = Tracer()
    with tempfile.TemporaryDirectory() as root:
        sys.setprofile(tracer)
        with asyncio.Runner(loop_factory=loop_factory()) as runner:
            ways = runner.run(_serve(Path(root), tracer, chosen))
        sys.setprofile(None)
    if name is None:
        _print_counts(chosen, ways)
    else:
        _print_calls(ways[0])


async def _serve(root: Path, tracer: Tracer, chosen: list[Walk]) -> list[list[Call]]:
    config = BrokerConfig(
        log_dirs=(root,),
        listeners=(Listener("PLAINTEXT", "127.0.0.1", 0),),
        num_partitions=2,
        offsets_topic_num_partitions=1,
        transaction_state_log_num_partitions=1,
        socket_busy_poll_us=0,
    )
    server = Server(config)
    await server.start()
    port = server.listeners[0].port
    ways = await asyncio.to_thread(_ask_all, port, tracer, chosen)
    await server.stop()
    return ways


def _ask_all(port: int, tracer: Tracer, chosen: list[Walk]) -> list[list[Call]]:
    asker = Asker(port)
    try:
        return [_shortest(asker, tracer, walk) for walk in chosen]
    finally:
        asker.close()


def _shortest(asker: Asker, tracer: Tracer, walk: Walk) -> list[Call]:
    ways = []
    for _ in range(REPEATS):
        walk.before(asker)
        time.sleep(SETTLE_S / 2)
        tracer.calls = []
        tracer.is_on = True
        walk.ask(asker)
        time.sleep(SETTLE_S)
        tracer.is_on = False
        ways.append(tracer.calls)
        walk.after(asker)
    return min(ways[1:], key=len)  # the first one may have loaded modules


def _print_counts(chosen: list[Walk], ways: list[list[Call]]) -> None:
    rows = []
    for walk, way in zip(chosen, ways, strict=True):
        writes = [at for at, call in enumerate(way) if call.name == IN_C[0]]
        until = _counted(way[: writes[0]]) if writes else "-"
        rows.append([walk.title, _counted(way), until, str(len(writes))])
    columns = ["request", "calls / files", "until the write", "writes"]
    print(table(columns, rows))


def _counted(way: list[Call]) -> str:
    ours = [call for call in way if call.is_counted]
    return f"{len(ours)} / {len({call.path for call in ours})}"


def _print_calls(way: list[Call]) -> None:
    number, top = 0, min(call.depth for call in way)
    for call in way:
        number += call.is_counted
        print(
            f"{number:4} {'  ' * (call.depth - top)}{call.name}  {call.path}".rstrip()
        )


if __name__ == "__main__":
    main()
