"""Measures rounds of compaction: beside Apache Kafka, on the same segments.

    python bench/compaction.py
    python bench/compaction.py --scenarios small,acks --kafka KAFKA/libs
    python bench/compaction.py --markdown docs/benchmarks.md --kafka KAFKA/libs

- small, large: ``--keys`` keys of 100 bytes and of 1 KiB, each written ``--writes``
  times, in batches of 16 KB and segments of 100 MB, their pages warm. Ours is timed
  from the start of the cleaning process to its end, its output synced; Kafka's as its
  log says it, CPU time of its process from one round to the next. Both have 128 MiB
  for keys. The best of several rounds; of Kafka's, the first one apart.
- offsets: ``--commits`` of 1,000 keys, a batch each, as groups commit offsets.
- acks: one producer, one record at a time, in turn without a round and while one runs
  over a copy of what "small" cleans, ``--rounds`` of each.

What is to be cleaned takes longer to write than to clean. With ``--keep DIR`` it stays
there for the next run.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent)]
sys.path.append(str(HERE / "parts"))

from compacted_logs import (  # noqa: E402
    Round,
    clean,
    committed_batches,
    keyed_batches,
    log_size,
    write_partition,
)
from compacting_brokers import (  # noqa: E402
    KafkaRound,
    acks_beside_rounds,
    clean_with_kafka,
    compacting_kafka,
    compacting_odradek,
)
from tables import machine, replace_section, short, table  # noqa: E402

SECTION = "compaction"
MAP_SIZE = 128 << 20
COMMITTED_KEYS = 1000
QUIET_S = 2.0
OURS, THEIRS = "odradek", "Apache Kafka"

Figures = dict[str, dict[str, float]]  # by row, by column


def small(args: argparse.Namespace, root: Path) -> Figures:
    name = f"{args.keys:,} keys of 100 B"
    return _rounds(args, root, name, _small(args, root))


def large(args: argparse.Namespace, root: Path) -> Figures:
    name = f"{args.keys:,} keys of 1 KiB"
    original = _original(args, root, "large", _keyed(args, 1024))
    return _rounds(args, root, name, original)


def offsets(args: argparse.Namespace, root: Path) -> Figures:
    name = f"{args.commits:,} commits of {COMMITTED_KEYS:,} keys"
    batches = committed_batches(COMMITTED_KEYS, args.commits)
    return _rounds(args, root, name, _original(args, root, "offsets", batches))


def _small(args: argparse.Namespace, root: Path) -> Path:
    return _original(args, root, "small", _keyed(args, 100))


def _keyed(args: argparse.Namespace, value_size: int) -> Iterator[bytearray]:
    return keyed_batches(args.keys, round(args.keys * args.writes), value_size)


def _original(
    args: argparse.Namespace, root: Path, name: str, batches: Iterator[bytearray]
) -> Path:
    """A partition to be cleaned, written or kept from the run before."""
    kept = f"{name}-{args.keys}-{args.writes:g}-{args.commits}"
    directory = (args.keep or root) / kept / "compacted-0"
    if not directory.exists():
        unfinished = directory.with_name("unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        write_partition(unfinished, batches)
        clean(unfinished, MAP_SIZE)  # it has indexes now
        unfinished.rename(directory)
    return directory


def _rounds(args: argparse.Namespace, root: Path, name: str, original: Path) -> Figures:
    megabytes = log_size(original) / 1e6
    ours = [clean(original, MAP_SIZE) for _ in range(args.repeats)]
    theirs: list[KafkaRound] = []
    if args.kafka:
        theirs = clean_with_kafka(args.kafka, root, original, args.kafka_repeats)
    return _as_rows(f"{name}, {megabytes:,.0f} MB", megabytes, ours, theirs)


def _as_rows(
    name: str, megabytes: float, ours: list[Round], theirs: list[KafkaRound]
) -> Figures:
    best = min(each.wall_s for each in ours)
    rows: Figures = {
        f"{name}: MB/s": {OURS: megabytes / best},
        f"{name}: CPU s": {OURS: min(each.cpu_s for each in ours)},
        f"{name}: memory of the process, MB": {
            OURS: max(each.memory for each in ours) / 1e6
        },
        f"{name}: records left": {OURS: ours[0].records_written},
        f"{name}: others, cores": {OURS: max(each.others for each in ours)},
    }
    if theirs:
        later = theirs[1:] or theirs
        speed, cpu = f"{name}: MB/s", f"{name}: CPU s"
        rows[speed][THEIRS] = megabytes / min(each.wall_s for each in later)
        rows[cpu][THEIRS] = min(each.cpu_s for each in later)
        rows[f"{name}, Kafka's first round: MB/s"] = {
            THEIRS: megabytes / theirs[0].wall_s
        }
        rows[f"{name}, Kafka's first round: CPU s"] = {THEIRS: theirs[0].cpu_s}
    return rows


def acks(args: argparse.Namespace, root: Path) -> Figures:
    original = _small(args, root)
    targets = {
        OURS: compacting_odradek("none"),
        f"{OURS}, commit": compacting_odradek("commit"),
    }
    if args.kafka:
        targets[THEIRS] = compacting_kafka(args.kafka, root)
    rows: Figures = {}
    for column, target in targets.items():
        took = acks_beside_rounds(target, root, original, args.rounds, QUIET_S)
        for name, each in (("without a round", took.without), ("during", took.during)):
            for percent in (50, 99):
                figure = _percentile(each, percent) * 1e3
                rows.setdefault(f"acks {name}: p{percent} ms", {})[column] = figure
            print(column, name, len(each), "acks", file=sys.stderr)
        ratio = _percentile(took.during, 99) / _percentile(took.without, 99)
        rows.setdefault("acks: p99 during / without", {})[column] = ratio
        rows.setdefault("acks: others, cores", {})[column] = took.others
    return rows


def _percentile(ordered: list[float], percent: int) -> float:
    return ordered[len(ordered) * percent // 100]


SCENARIOS = {each.__name__: each for each in (small, large, offsets, acks)}


def main() -> None:
    args = _arguments()
    results: Figures = {}
    for name in args.scenarios.split(","):
        with tempfile.TemporaryDirectory(prefix="bench-", dir=args.dir) as root:
            figures = SCENARIOS[name](args, Path(root))
        for row, by in figures.items():
            shown = {column: short(figure) for column, figure in by.items()}
            print(row, shown, file=sys.stderr, flush=True)
        results |= figures
    columns = [OURS, f"{OURS}, commit", THEIRS]
    rows = [
        [row, *(short(by[each]) if each in by else "" for each in columns)]
        for row, by in results.items()
    ]
    text = table(["", *columns], rows)
    print(text)
    if args.markdown:
        replace_section(args.markdown, SECTION, f"{machine()}\n\n{text}")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--scenarios", default=",".join(SCENARIOS))
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--writes", type=float, default=2, help="of each key")
    parser.add_argument("--commits", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3, help="of ours")
    parser.add_argument("--kafka-repeats", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5, help="of acks")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="what is written once")
    parser.add_argument("--kafka", type=Path, metavar="LIBS", help="measure it as well")
    parser.add_argument("--dir", help="where data goes (default: a temporary one)")
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="write it there")
    return parser.parse_args()


if __name__ == "__main__":
    main()
