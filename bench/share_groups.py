"""Measures share groups (KIP-932), beside Apache Kafka.

    python bench/share_groups.py
    python bench/share_groups.py --markdown docs/benchmarks.md --kafka KAFKA/libs

- first: from connect to the first record of a new group, bare requests, median.
- bare: ``--records`` records of 1 KiB, handed out by 500 and accepted by the next
  fetch; by one member, and by ten. Nobody looks at the records.
- java: the same with Apache Kafka's own tool for it, ShareConsumerPerformance; for
  those who have its jars (``--kafka``).
"""

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

from share_members import ShareMember, begin_with_the_first, read_all  # noqa: E402
from side_by_side import Figures, compare  # noqa: E402
from targets import Broker  # noqa: E402
from work import RAW, measure, topic  # noqa: E402

SECTION = "share groups"
BATCH_RECORDS, RECORD_SIZE = 100, 1024
MEMBERS = (1, 10)
TOOL = "org.apache.kafka.tools.ShareConsumerPerformance"


def first(broker: Broker, args: argparse.Namespace) -> Figures:
    took = []
    with topic(broker) as name:
        measure(broker, RAW, "produce", topic=name, count=1, records=1, acks=1)
        for number in range(args.joins):
            group = f"first-{name}-{number}"
            begin_with_the_first(broker.port, group)
            began = time.perf_counter()
            member = ShareMember(broker.port, group, name)
            member.join()
            while not member.fetch():
                pass
            took.append(time.perf_counter() - began)
            member.close()
    return {"first record of a new group: ms": statistics.median(took) * 1e3}


def bare(broker: Broker, args: argparse.Namespace) -> Figures:
    figures: Figures = {}
    for members in MEMBERS:
        took, cpu = [], []
        with topic(broker) as name:
            _fill(broker, name, args.records)
            for number in range(args.rounds):
                group = f"bare-{name}-{number}"
                begin_with_the_first(broker.port, group)
                before = broker.cpu_seconds()
                took.append(read_all(broker.port, group, name, members, args.records))
                cpu.append(broker.cpu_seconds() - before)
        row = f"bare requests, members: {members}"
        figures |= _rows(row, args.records, took, cpu)
    return figures


def java(broker: Broker, args: argparse.Namespace) -> Figures:
    figures: Figures = {}
    for members in MEMBERS if args.kafka else ():
        took, cpu = [], []
        with topic(broker) as name:
            _fill(broker, name, args.records)
            for number in range(args.rounds):
                group = f"java-{name}-{number}"
                begin_with_the_first(broker.port, group)
                before = broker.cpu_seconds()
                took.append(_java(broker, args, name, group, members))
                cpu.append(broker.cpu_seconds() - before)
        figures |= _rows(f"Java's tool, members: {members}", args.records, took, cpu)
    return figures


def _java(
    broker: Broker, args: argparse.Namespace, name: str, group: str, members: int
) -> float:
    """Seconds of reading, as the tool says itself."""
    command = ["java", "-cp", f"{args.kafka.resolve()}/*", TOOL, "--hide-header"]
    command += ["--bootstrap-server", broker.address, "--topic", name]
    command += ["--group", group, "--threads", str(members)]
    command += ["--num-records", str(args.records)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    # start, end, MB, MB/s, records/s, records, ms of the joining, ms of the fetching
    (line,) = [each for each in done.stdout.splitlines() if each.count(",") >= 6]
    return float(line.split(",")[-1]) / 1e3


def _fill(broker: Broker, name: str, records: int) -> None:
    size = {"records": BATCH_RECORDS, "size": RECORD_SIZE, "depth": 2}
    count = records // BATCH_RECORDS
    measure(broker, RAW, "produce", topic=name, count=count, acks=1, **size)


def _rows(row: str, records: int, took: list[float], cpu: list[float]) -> Figures:
    return {
        f"{row}: records/s": records / statistics.median(took),
        f"{row}: broker CPU µs a record": statistics.median(cpu) / records * 1e6,
    }


SCENARIOS = {each.__name__: each for each in (first, bare, java)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--joins", type=int, default=10)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    compare(parser, SCENARIOS, SECTION)


if __name__ == "__main__":
    main()
