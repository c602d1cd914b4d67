"""A broker of an earlier revision beside this one, in turns, under the same load."""

import statistics
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from checkouts import target_of, worktree
from targets import ROOT, Broker, compile_packages
from work import RAW, measure, topic

Figures = dict[str, float]

TURNS = 4  # of each, in a round
ROW = "without any: {}, times the CPU of before"


def before_and_now(
    root: Path, revision: str, rounds: int, requests: int
) -> Iterator[Figures]:
    """How many times the CPU of the other a request takes: medians of pairs."""
    with ExitStack() as stack:
        old = stack.enter_context(worktree(revision))
        compile_packages(old)
        brokers = [
            Broker(target_of(name, path, "none"), root)
            for name, path in (("before", old), ("now", ROOT))
        ]
        for broker in brokers:
            stack.callback(broker.remove)
            broker.start()
        for work, options in (
            ("Produce 100 B", {"size": 100}),
            ("Fetch 1 KiB", {"size": 1024, "offsets": 1000}),
        ):
            yield {ROW.format(work): _ratio(brokers, work, options, rounds, requests)}


def _ratio(
    brokers: list[Broker],
    work: str,
    options: dict[str, int],
    rounds: int,
    requests: int,
) -> float:
    with ExitStack() as stack:
        names = [stack.enter_context(topic(broker)) for broker in brokers]
        for broker, name in zip(brokers, names, strict=True):
            # What is fetched; and the broker gets warm.
            measure(broker, RAW, "produce", topic=name, count=2_000, size=1000)
        ratios = []
        for turn in range(rounds * TURNS):
            took = [0.0, 0.0]
            for which in (0, 1) if turn % 2 else (1, 0):
                figures = measure(
                    brokers[which],
                    RAW,
                    work.split()[0].lower(),
                    topic=names[which],
                    connections=16,
                    count=requests,
                    **options,
                )
                took[which] = figures["broker_cpu_s"]
            ratios.append(took[1] / took[0])
    return statistics.median(ratios)
