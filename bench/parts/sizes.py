"""How much the scenarios do: in full, or just enough to see that they work."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    seconds: float = 2.0  # of each load that is bound by time
    megabytes: int = 200  # of each load that is bound by bytes
    recovered_megabytes: int = 1_000
    partitions: int = 1_000  # of the topic that has many
    connections: int = 5_000  # that are idle

    @property
    def records(self) -> int:
        """Of 1 KiB, which make those megabytes."""
        return int(self.megabytes * 1e6 / 1024)


QUICK = Size(
    seconds=0.7,
    megabytes=60,
    recovered_megabytes=200,
    partitions=200,
    connections=1_000,
)
