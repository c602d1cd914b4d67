"""What the broker is to reach, row by row of the table, and whether it does.

An aim stands beside what Apache Kafka did on the machine where it was set. Times move
with the machine: the ratio to Kafka in the same run is what counts, and the figure
itself only where Kafka has none. Memory does not move: its figures count themselves.
"""

from collections.abc import Mapping
from typing import NamedTuple

from tables import short, table

NONE, COMMIT, KAFKA = "odradek", "odradek, commit", "Apache Kafka"


class Aim(NamedTuple):
    row: str
    figure: float
    kafka: float | None  # on the machine where the aim was set
    column: str = NONE

    def is_reached(self, here: float, kafka: float | None) -> bool:
        wanted = self.figure
        if self.kafka and kafka and "RSS" not in self.row:
            wanted, here = wanted / self.kafka, here / kafka
        return here >= wanted if self.row.endswith("/s") else here <= wanted


AIMS = (
    Aim("start to first answer, s", 0.25, 2.5),
    Aim("start to first record of a new group, s", 0.5, 5.8),
    Aim("RSS when idle then, MB", 50, 408),
    Aim("produce 100 B, 1 connections: broker CPU µs", 45, 86),
    Aim("produce 100 B, 1 connections: p50 µs", 75, 129),
    Aim("produce 100 B, 16 connections: broker CPU µs", 16, 32),
    Aim("produce 100 B, 16 connections: requests/s", 58_000, 39_400),
    Aim("produce 100 B, 16 connections x 8 in flight: broker CPU µs", 14, 28),
    Aim("produce 100 B, 16 connections x 8 in flight: requests/s", 70_000, 43_800),
    Aim("fetch 1 KiB, 16 connections: broker CPU µs", 18, 42),
    Aim("fetch 1 KiB, 16 connections: requests/s", 50_000, 28_300),
    Aim("produce 1 KiB, 16 KB batches: broker CPU s/GB", 2.2, 6.2),
    Aim("produce 1 KiB, default batches: broker CPU s/GB", 1.2, 1.6),
    Aim("produce 100 B, 16 KB batches, 12 partitions: broker CPU s/GB", 4, 9.6),
    Aim("consume 1 KiB: broker CPU s/GB", 0.6, 0.7),
    Aim("5,000 records/s, send to receipt: p50 ms", 0.25, 0.3),
    Aim("5,000 records/s, send to receipt: p99 ms", 1.5, 3.0),
    Aim("5,000 records/s, send to receipt: p50 ms", 0.8, None, COMMIT),
    Aim("synced 100 B, 1 connections: requests/s", 2_400, 2_046, COMMIT),
    Aim("synced 100 B, 64 connections: requests/s", 35_000, 2_538, COMMIT),
    Aim(
        "synced 100 B, 64 connections, 12 partitions: requests/s",
        30_000,
        7_798,
        COMMIT,
    ),
    Aim("synced 100 B, 16 connections x 8 in flight: requests/s", 60_000, None, COMMIT),
    Aim("10 MB/s to 50 consumers: p50 ms", 2, 2.1),
    Aim("10 MB/s to 50 consumers: p99 ms", 8, 8.7),
    Aim("10 MB/s to 50 consumers: broker, % of a core", 35, 37),
    Aim("1,000 partitions: create to ack on the last, s", 0.1, 3.9),
    Aim("1,000 partitions: clean restart to first ack, s", 0.5, 10.5),
    Aim("1,000 MB, kill -9: restart to first ack, s", 0.8, 14),
    Aim("1,000 MB, kill -9: RSS then, MB", 80, 670),
    Aim("5,000 idle connections: RSS each, KB", 8, 20),
)


def aims_table(figures: Mapping[str, Mapping[str, float]]) -> str:
    """A row for each aim that was measured; ``figures`` by row, then by broker."""
    rows = []
    for aim in AIMS:
        here = figures.get(aim.row, {}).get(aim.column)
        kafka = figures.get(aim.row, {}).get(KAFKA)
        if here is None:
            continue
        name = aim.row if aim.column == NONE else f"{aim.row} ({aim.column})"
        ratio = short(aim.figure / aim.kafka) if aim.kafka else ""
        ratio_here = short(here / kafka) if aim.kafka and kafka else ""
        reached = "yes" if aim.is_reached(here, kafka) else "no"
        cells = [short(aim.figure), ratio, short(here), ratio_here, reached]
        rows.append([name, *cells])
    if not rows:
        return ""
    head = ["aim", "figure", "to Kafka", "here", "to Kafka here", "reached"]
    return table(head, rows)
