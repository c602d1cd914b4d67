"""Holds this checkout against another revision: requests, starts, hot paths.

    python bench/compare.py 68c8f84
    python bench/compare.py HEAD~5 --rounds 5 --without hot-paths

Both sides run on this machine, in turns, and the processor's time decides, not the
clock's: what else runs disturbs it less. Of whole brokers a row is so many requests of
one load, sent to one broker and then to the other, ``--rounds`` times, the order
changing; "now/before" is the median of the pairs, beside it what half of them lie
between. Of hot paths the run counts that was disturbed least, as in ``run.py``. A row
whose half is all above 1.03 is marked: that one is worse. Twelve minutes.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
# What the brokers run and what loads them is this checkout, wherever it is started.
sys.path[:0] = [str(ROOT)]
sys.path.append(str(HERE / "parts"))

from checkouts import target_of, worktree  # noqa: E402
from group_members import Member, alone  # noqa: E402
from raw_load import Link, drive, fetch_links, produce_links  # noqa: E402
from run import hot_paths, time_all  # noqa: E402
from tables import machine, short, table  # noqa: E402
from targets import Broker, compile_packages  # noqa: E402
from work import topic  # noqa: E402

NOW, BEFORE = "now", "before"
WORSE = 1.03
KIB = 1024
SETTLING_S = 1.0
MEMBERS = 50
PARTS = ("requests", "starts", "hot-paths")

Pairs = dict[str, list[tuple[float, float]]]  # by row: now, before


@dataclass(frozen=True)
class Load:
    """So many requests of one kind, sent in one turn."""

    row: str
    count: int
    connections: int = 16
    acks: int = -1
    size: int = 100
    offsets: int = 0  # to fetch from, where it is fetched
    durability: str = "none"


PRODUCES = (
    Load("produce 100 B, acks=1, 16 connections", 24_000, acks=1),
    Load("produce 100 B, acks=all, 16 connections", 24_000),
    Load("produce 100 B, acks=all, 1 connection", 8_000, connections=1),
    Load("produce 16 KiB, acks=all, 16 connections", 4_000, size=16 * KIB),
    Load("produce 100 B, synced, 64 connections", 8_000, 64, durability="commit"),
)
FETCH = Load("fetch 1 KiB, 16 connections", 24_000, size=KIB, offsets=1_000)
COMMITS = Load("OffsetCommit, 50 connections", 4_000, MEMBERS, durability="commit")


def main() -> None:
    args = _arguments()
    pairs: Pairs = {}
    with worktree(args.revision) as other:
        trees = {NOW: ROOT, BEFORE: other}
        for tree in trees.values():
            compile_packages(tree)
        with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as directory:
            if "starts" in args.parts:
                _compare_starts(pairs, trees, Path(directory), args.rounds * 2)
            if "requests" in args.parts:
                for durability in ("none", "commit"):
                    with _brokers(trees, Path(directory), durability) as brokers:
                        _compare_loads(pairs, brokers, durability, args.rounds)
        if "hot-paths" in args.parts:
            _compare_hot_paths(pairs, other)
    print(f"{machine()}\n\n{_report(pairs, args.revision)}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("revision", help="what is held against this checkout")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--without", action="append", default=[], choices=PARTS)
    parser.add_argument("--dir", help="where data goes (default: a temporary one)")
    args = parser.parse_args()
    args.parts = [part for part in PARTS if part not in args.without]
    return args


# Whole brokers


@contextmanager
def _brokers(
    trees: dict[str, Path], directory: Path, durability: str
) -> Iterator[list[Broker]]:
    brokers = [
        Broker(target_of(name, tree, durability), directory)
        for name, tree in trees.items()
    ]
    try:
        for broker in brokers:
            broker.start()
        yield brokers
    finally:
        for broker in brokers:
            broker.remove()


def _compare_starts(
    pairs: Pairs, trees: dict[str, Path], directory: Path, rounds: int
) -> None:
    """On an empty directory: all that it computes until it is idle, and holds then."""
    _tell("start")
    targets = [target_of(name, tree, "commit") for name, tree in trees.items()]
    for number in range(rounds + 1):
        figures = {}
        for target in _turn(targets, number):
            broker = Broker(target, directory)
            try:
                broker.start()
                time.sleep(SETTLING_S)
                figures[target.name] = broker.cpu_seconds(), broker.memory_bytes()
            finally:
                broker.remove()
        if number == 0:
            continue  # files are in the page cache from here on
        now, before = figures[NOW], figures[BEFORE]
        for row, place, scale in (
            ("start, CPU ms", 0, 1e3),
            ("start, RSS MB", 1, 1e-6),
        ):
            pairs.setdefault(row, []).append(
                (now[place] * scale, before[place] * scale)
            )


def _compare_loads(
    pairs: Pairs, brokers: list[Broker], durability: str, rounds: int
) -> None:
    for load in (*PRODUCES, FETCH, COMMITS):
        if load.durability == durability:
            _tell(load.row)
            _compare_load(pairs, brokers, load, rounds)


def _compare_load(pairs: Pairs, brokers: list[Broker], load: Load, rounds: int) -> None:
    sides = {}
    opened: list[Link | Member] = []
    with topic(brokers[0]) as first, topic(brokers[1]) as second:
        for broker, name in zip(brokers, (first, second), strict=True):
            links, members = _links(broker, name, load)
            sides[broker.name] = broker, links
            opened += [*links, *members]
        for number in range(rounds + 1):
            spent = {
                name: _spent_us(*sides[name], load.count)
                for name in _turn(list(sides), number)
            }
            if number:  # the first one has warmed up
                row = f"{load.row}, CPU µs"
                pairs.setdefault(row, []).append((spent[NOW], spent[BEFORE]))
        for each in opened:
            (each.socket if isinstance(each, Link) else each.connection).close()


def _links(broker: Broker, name: str, load: Load) -> tuple[list[Link], list[Member]]:
    """The connections of a load, and the members in whose name they commit."""
    asked = argparse.Namespace(
        port=broker.port,
        topic=name,
        connections=load.connections,
        partitions=1,
        depth=1,
        acks=load.acks,
        records=1,
        size=load.size,
        offsets=load.offsets,
        security=None,
    )
    if load is COMMITS:
        return _committing(broker, name)
    if not load.offsets:
        return produce_links(asked), []
    filling = produce_links(asked)
    drive(filling, 1, load.offsets, 0)
    for link in filling:
        link.socket.close()
    return fetch_links(asked), []


def _committing(broker: Broker, name: str) -> tuple[list[Link], list[Member]]:
    error = 4 + 1 + 4 + 1 + 1 + len(name) + 1 + 4
    members = [alone(broker.port, f"{name}-{number}") for number in range(MEMBERS)]
    links = []
    for number, member in enumerate(members):
        frame = member.commit_frame(name, range(1), number)
        links.append(Link(broker.port, frame.__mul__, [error]))
    return links, members


def _spent_us(broker: Broker, links: list[Link], count: int) -> float:
    before = broker.cpu_seconds()
    drive(links, 1, count, 0)
    for link in links:
        link.took_ns.clear()
    return (broker.cpu_seconds() - before) / count * 1e6


def _turn(sides: list[Any], number: int) -> list[Any]:
    """Who comes first changes: what the other left behind is then nobody's alone."""
    return sides if number % 2 else sides[::-1]


# Hot paths


def _compare_hot_paths(pairs: Pairs, other: Path) -> None:
    asked = argparse.Namespace(names=hot_paths(), rounds=3, seconds=0.02)
    now, before = time_all(asked, [ROOT, other])
    for name in now:
        if name in before:
            both = now[name]["cpu_us"], before[name]["cpu_us"]
            pairs[f"{name}, CPU µs"] = [both]


# What is told


def _report(pairs: Pairs, revision: str) -> str:
    rows = []
    for name, both in pairs.items():
        ratios = sorted(now / before for now, before in both)
        low, high = ratios[len(ratios) // 4], ratios[-1 - len(ratios) // 4]
        middle = [statistics.median(side) for side in zip(*both, strict=True)]
        spread = f"{low:.3f} to {high:.3f}" if len(ratios) > 1 else ""
        mark = "worse" if low > WORSE else ""
        ratio = f"{statistics.median(ratios):.3f}"
        rows.append([name, *map(short, middle), ratio, spread, mark])
    head = ["", NOW, f"at {revision}", "now/before", "half of the pairs", ""]
    return table(head, rows)


def _tell(what: str) -> None:
    print(f"{what} ...", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
