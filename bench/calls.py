"""Counts the calls of one request, from received bytes to the bytes of its answer.

    python bench/calls.py produce
    python bench/calls.py synced --top 20

Unlike a time, a count is the same on every machine and in every run; and it goes
well with the time: a Python function in the path of a request costs about 0.3 µs
there, twice what it costs in a loop of its own.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE / "hot_paths"))
sys.path.append(str(HERE / "parts"))

import dispatch_requests as requests  # noqa: E402
from logs import temporary_root  # noqa: E402
from partitions import Loop  # noqa: E402
from samples import small_batch  # noqa: E402
from tables import table  # noqa: E402

COUNT = 640
TOGETHER = 64


class Calls:
    """What was called while it was the profiler: functions in Python, and in C."""

    def __init__(self) -> None:
        self.python: Counter[str] = Counter()
        self.c: Counter[str] = Counter()

    def __call__(self, frame: Any, event: str, argument: Any) -> None:
        if event == "call":
            code = frame.f_code
            name = getattr(code, "co_qualname", code.co_name)
            self.python[f"{name} ({Path(code.co_filename).name})"] += 1
        elif event == "c_call":
            self.c[getattr(argument, "__qualname__", str(argument))] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("work", choices=["produce", "synced", "fetch"])
    parser.add_argument("--top", type=int, default=1000, help="functions to list")
    args = parser.parse_args()
    loop, calls = Loop(), Calls()
    with temporary_root() as root:
        durability = "commit" if args.work == "synced" else "none"
        serving = loop.run(requests.start(root, durability))
        produce = requests.produce_bytes(small_batch(), -1)
        sender: Any = requests.Sender(serving, produce)
        if args.work == "synced":
            sender = requests.SyncedSenders(serving, produce, TOGETHER)
        loop.run(sender.run(COUNT))
        if args.work == "fetch":
            sender = requests.Sender(serving, requests.fetch_bytes())
            loop.run(sender.run(COUNT))
        sys.setprofile(calls)
        loop.run(sender.run(COUNT))
        sys.setprofile(None)
        loop.run(serving.close())
    loop.close()
    print_calls(calls, args.top)


def print_calls(calls: Calls, top: int) -> None:
    for kind, counted in (("Python", calls.python), ("C", calls.c)):
        print(f"\n{counted.total() / COUNT:.1f} calls of {kind} functions\n")
        often = [(name, n / COUNT) for name, n in counted.most_common(top)]
        rows = [[name, f"{n:.2f}"] for name, n in often if n >= 0.01]
        print(table(["function", "calls"], rows))


if __name__ == "__main__":
    main()
