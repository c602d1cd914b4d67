"""Measures what security costs: TLS, logins, an authorizer; and what none of it costs.

    python bench/security.py
    python bench/security.py --quick
    python bench/security.py --markdown docs/benchmarks.md --kafka KAFKA/libs \\
        --before f1ed7438~1

Loads take turns on the listeners SASL_PLAINTEXT and SASL_SSL of one broker, as a user
with one entry; what TLS adds is the difference. With ``--before`` two brokers without
any of it take turns: this one, and one of the revision, which is checked out and
compiled for it. Medians of ``--rounds``. Takes eleven minutes with both.
"""

import argparse
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))
sys.path.append(str(HERE / "hot_paths"))

import connecting  # noqa: E402
import secured  # noqa: E402
import strangers  # noqa: E402
from before import before_and_now  # noqa: E402
from guarded import (  # noqa: E402
    SASL_PLAINTEXT,
    SASL_SSL,
    Certificate,
    Guarded,
    kafka_guarded,
    make_certificate,
    odradek_guarded,
)
from tables import machine, replace_section, short, table  # noqa: E402
from targets import compile_packages  # noqa: E402
from work import RAW, disturbances, measure, topic  # noqa: E402

SECTION = "security"
BATCH_RECORDS, RECORD_SIZE = 240, 1024
BATCH_SIZE = BATCH_RECORDS * RECORD_SIZE
PLAIN, TLS = "plain", "TLS"
PROTOCOLS = {PLAIN: SASL_PLAINTEXT, TLS: SASL_SSL}


class Size(NamedTuple):
    rounds: int
    batches: int  # of 240 KiB
    requests: int  # of 200 bytes
    logins: int
    idle: int
    starts: int
    strangers: int
    seconds: float  # of a neighbour's requests


FULL = Size(5, 2_000, 20_000, logins=300, idle=500, starts=7, strangers=5000, seconds=8)
QUICK = Size(1, 200, 2_000, logins=40, idle=100, starts=1, strangers=500, seconds=1)


class Aim(NamedTuple):
    """What a row is to be at most: a figure, or of Apache Kafka's so many times."""

    figure: float
    is_ratio: bool = False

    def __str__(self) -> str:
        return f"{self.figure:g} x" if self.is_ratio else f"{self.figure:g}"


AIMS = {
    "produce 1 KiB records: TLS adds, CPU s/GB": Aim(1.1),
    "consume 1 KiB records: TLS adds, CPU s/GB": Aim(0.45),
    "produce 1 KiB records, TLS: CPU s/GB": Aim(1.0, is_ratio=True),
    "consume 1 KiB records, TLS: CPU s/GB": Aim(0.8, is_ratio=True),
    "produce 100 B: TLS adds, CPU µs": Aim(14),
    connecting.TLS: Aim(800),
    connecting.RATIO[connecting.TLS]: Aim(1.0),
    connecting.LOGIN: Aim(300),
    connecting.LOGIN_TLS: Aim(1100),
    **{strangers.times_row(kind): Aim(2.0) for kind in strangers.SLOW},
    "an idle connection with TLS, KB": Aim(24),
    "ready with SASL_SSL, later than without by ms": Aim(30),
    "the authorizer on the short way, Produce, µs": Aim(0.5),
    "the authorizer on the short way, Fetch, µs": Aim(0.5),
    "a first decision, 10,000 entries, µs": Aim(20),
    "without any: Produce 100 B, times the CPU of before": Aim(1.03),
    "without any: Fetch 1 KiB, times the CPU of before": Aim(1.03),
}

Figures = dict[str, float]


def main() -> None:
    args = _arguments()
    size = QUICK if args.quick else FULL
    rows: dict[str, Figures] = {}
    compile_packages()
    with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
        for name, figures in _measure(args, Path(root), size):
            for row, figure in figures.items():
                rows.setdefault(row, {})[name] = figure
                print(f"{name:14} {row:55} {short(figure)}", file=sys.stderr)
    text = _table(rows)
    print(text)
    if args.markdown:
        others = statistics.median(disturbances or [0])
        head = f"{machine()} Medians of {size.rounds}; others used {others:.2f} cores."
        replace_section(args.markdown, SECTION, f"{head}\n\n{text}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one round, small sizes")
    parser.add_argument("--kafka", type=Path, metavar="LIBS", help="measure it as well")
    parser.add_argument("--before", metavar="REVISION", help="without security at all")
    parser.add_argument("--dir", help="where data goes (default: a temporary one)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    return parser.parse_args()


def _measure(
    args: argparse.Namespace, root: Path, size: Size
) -> Iterator[tuple[str, Figures]]:
    certificate = make_certificate(root)
    yield "odradek", secured.short_ways(root, size.rounds)
    yield "odradek", secured.first_decisions()
    yield "odradek", secured.starts(root, certificate, size.starts)
    with ExitStack() as stack:
        brokers = [odradek_guarded(root, certificate)]
        if args.kafka:
            brokers.append(kafka_guarded(args.kafka, root, certificate))
        for broker in brokers:
            stack.callback(broker.remove)
            broker.start()
            broker.let_in()
        for broker in brokers:
            _loads(broker, QUICK if broker.name == "odradek" else FULL, 1)  # to be warm
        found: dict[str, list[Figures]] = {broker.name: [] for broker in brokers}
        for _ in range(size.rounds):
            for broker in brokers:
                found[broker.name].append(_loads(broker, size, size.rounds))
        for name, rounds in found.items():
            yield name, _medians(rounds)
        elsewhere = stack.enter_context(_another(root, certificate))
        yield from _all_alone(brokers, elsewhere, certificate, size)
    if args.before:
        for figures in before_and_now(root, args.before, size.rounds, size.requests):
            yield "odradek", figures


@contextmanager
def _another(root: Path, certificate: Certificate) -> Iterator[Guarded]:
    """One that is there for crowds which the measured ones shall not have."""
    place = root / "elsewhere"
    place.mkdir()
    broker = odradek_guarded(place, certificate)
    try:
        broker.start()
        yield broker
    finally:
        broker.remove()


def _all_alone(
    brokers: list[Guarded], elsewhere: Guarded, certificate: Certificate, size: Size
) -> Iterator[tuple[str, Figures]]:
    for broker in brokers:
        with _frozen(other for other in brokers if other is not broker):
            for figures in _alone(broker, certificate, size):
                yield broker.name, figures
            for kind in strangers.KINDS:
                count, seconds = size.strangers, size.seconds
                beside = strangers.beside_strangers
                yield broker.name, beside(broker, elsewhere, kind, count, seconds)


def _alone(broker: Guarded, certificate: Certificate, size: Size) -> Iterator[Figures]:
    """What is measured while the other broker does nothing."""
    if broker.name == "odradek":
        yield connecting.beside_bare_servers(broker, certificate, size.logins)
    else:
        yield _connections(broker, size)
    yield secured.idle(broker, size.idle)


@contextmanager
def _frozen(brokers: Iterator[Guarded]) -> Iterator[None]:
    """They do nothing meanwhile."""
    stopped = [broker.pid for broker in brokers]
    _signal(stopped, signal.SIGSTOP)
    try:
        yield
    finally:
        _signal(stopped, signal.SIGCONT)


def _signal(pids: list[int], number: int) -> None:
    for pid in pids:
        subprocess.run(["kill", f"-{number}", str(pid)], check=True)


def _loads(broker: Guarded, size: Size, rounds: int) -> Figures:
    """What bytes and requests cost on both listeners."""
    found: Figures = {}
    gigabytes = size.batches * BATCH_SIZE / 1e9
    for name, protocol in PROTOCOLS.items():
        at = broker.at(protocol)
        with topic(broker, retention_bytes=str(1 << 30)) as to:
            big = {"records": BATCH_RECORDS, "size": RECORD_SIZE, "depth": 2}
            on = {"topic": to, "security": at.security}
            sent = measure(at, RAW, "produce", count=size.batches, acks=1, **big, **on)
            read = measure(
                at,
                RAW,
                "fetch",
                count=size.batches,
                size=BATCH_SIZE,
                offsets=min(size.batches, 100) * BATCH_RECORDS,
                depth=2,
                **on,
            )
            small = measure(at, RAW, "produce", count=size.requests, size=100, **on)
        found[f"produce 1 KiB records, {name}: CPU s/GB"] = (
            sent["broker_cpu_s"] / gigabytes
        )
        found[f"consume 1 KiB records, {name}: CPU s/GB"] = (
            read["broker_cpu_s"] / read["bytes"] * 1e9
        )
        found[f"produce 100 B, {name}: CPU µs"] = (
            small["broker_cpu_s"] / size.requests * 1e6
        )
    for work in ("produce 1 KiB records", "consume 1 KiB records", "produce 100 B"):
        unit = "CPU µs" if work.endswith("B") else "CPU s/GB"
        found[f"{work}: TLS adds, {unit}"] = (
            found[f"{work}, {TLS}: {unit}"] - found[f"{work}, {PLAIN}: {unit}"]
        )
    return found


def _medians(rounds: list[Figures]) -> Figures:
    return {row: statistics.median(each[row] for each in rounds) for row in rounds[0]}


def _connections(broker: Guarded, size: Size) -> Figures:
    """What it costs the broker to be connected to, and to be logged in to."""
    return connecting.connections(broker, size.logins)


def _table(rows: dict[str, Figures]) -> str:
    """Every row with its aim, if it has one, and whether that is reached."""
    lines = []
    for row, figures in rows.items():
        ours, theirs = figures.get("odradek"), figures.get("Apache Kafka")
        aim = AIMS.get(row)
        cells = ["" if figure is None else short(figure) for figure in (ours, theirs)]
        ratio = short(ours / theirs) + " x" if ours and theirs else ""
        here = ours
        if aim and aim.is_ratio:
            here = ours / theirs if ours and theirs else None
        reached = ""
        if aim and here is not None:
            reached = "yes" if here <= aim.figure else "no"
        lines.append([row, *cells, ratio, str(aim or ""), reached])
    return table(
        ["", "odradek", "Apache Kafka", "to Kafka", "aim, at most", "reached"], lines
    )


if __name__ == "__main__":
    main()
