"""A clock that sleeping moves, for what waits in a thread of its own."""


class Waiting:
    """Stands for ``time.monotonic`` and ``time.sleep``; counts the pauses."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.pauses: list[float] = []

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += seconds
