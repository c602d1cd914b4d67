"""Every code block of README.md, ARCHITECTURE.md and docs/ runs as it is written.

Those that cannot are counted here, each with the reason that its page gives: who adds
one to a page adds it here, too. All others run, also those that are new.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import Block, blocks, complaint, pages
from tests.docs.session import Session

# By page, the reasons for which blocks are not run, and how many there are.
NOT_RUN: dict[str, dict[str, int]] = {
    "README.md": {
        "builds an environment": 1,
        "installs packages": 1,
        "needs Spark and more packages": 1,
    },
    "ARCHITECTURE.md": {"a fragment": 1},
    "docs/adopt.md": {"needs a directory of Apache Kafka": 2},
    "docs/backup.md": {"needs a directory with data": 1},
    "docs/benchmarks.md": {"takes minutes": 2},
    "docs/commands.md": {
        "does not end": 3,
        "needs a broker with TLS": 1,
        "needs a broker with an authorizer": 1,
        "needs a listener with logins": 1,
        "needs a schema registry": 1,
        "needs another cluster": 2,
        "serves beside another": 1,
        "shows a failure": 1,
        "shows keys that are pressed": 1,
    },
    "docs/cluster.md": {"needs another cluster": 2, "needs Apache Kafka": 1},
    "docs/compaction.md": {"needs Apache Kafka's tools": 1},
    "docs/containers.md": {"needs docker": 4},
    "docs/dump-log.md": {"shows damage": 1},
    "docs/groups.md": {"shows a failure": 1},
    "docs/howto/consoles.md": {"needs docker": 1},
    "docs/howto/kafka-and-back.md": {
        "needs Apache Kafka": 2,
        "needs a directory of Apache Kafka": 1,
    },
    "docs/mirror.md": {"needs another cluster": 3},
    "docs/moving.md": {"needs Apache Kafka's tools": 1},
    "docs/pipeline/audit.md": {"a fragment": 1, "shows damage": 1},
    "docs/pipeline/cluster.md": {
        "a fragment": 1,
        "installs packages": 1,
        "needs a cluster": 5,
        "needs a server": 1,
    },
    "docs/pipeline/compact.md": {"needs a table": 1},
    "docs/pipeline/export.md": {"needs Delta Lake and a day of records": 1},
    "docs/pipeline/load.md": {"a fragment": 1, "needs a table": 1},
    "docs/pipeline/replay.md": {"needs a table": 1},
    "docs/pipeline/security.md": {"a fragment": 1},
    "docs/pipeline/sink.md": {
        "does not end": 1,
        "needs a job that runs": 1,
        "needs a table": 1,
    },
    "docs/pipeline/sources.md": {"a fragment": 5},
    "docs/pipeline/stores.md": {"installs packages": 1, "needs a bucket": 1},
    "docs/pipeline/tutorial.md": {"installs packages": 1},
    "docs/releasing.md": {"builds an environment": 1},
    "docs/security.md": {
        "Kafka's own tool": 1,
        "bob is nobody here": 1,
        "files of the reader": 1,
    },
    "docs/tracing.md": {"waits for a client": 1},
    "docs/transactions.md": {"a fragment": 2, "needs an open transaction": 1},
    "docs/tutorials/ci.md": {"installs packages": 1},
    "docs/tutorials/consumer.md": {"installs packages": 1},
    "docs/tutorials/edge.md": {"needs root": 2},
    "docs/tutorials/laptop.md": {"installs packages": 1},
    "docs/tutorials/team.md": {"needs docker": 4},
}

# What they show is tried in tests of its own, too; each takes long.
OF_THE_LONG_RUN = {
    "docs/groups.md",
    "docs/howto/consoles.md",
    "docs/howto/from-other-kits.md",
    "docs/howto/test-recipes.md",
    "docs/howto/tuning.md",
    "docs/testing.md",
    "docs/tutorials/consumer.md",
}


def params() -> Iterator[object]:
    for page in pages():
        found = blocks(page)
        if any(block.runs for block in found):
            is_long = any("long" in block.comments for block in found)
            is_long |= page in OF_THE_LONG_RUN
            yield pytest.param(page, marks=[pytest.mark.long] if is_long else [])


@pytest.mark.parametrize("page", list(params()))
def test_a_page_runs_as_written(page: str, tmp_path: Path) -> None:
    Session(tmp_path).run(blocks(page))


def test_what_does_not_run_is_counted() -> None:
    left_out = {page: dict(_reasons(blocks(page))) for page in pages()}
    assert {page: reasons for page, reasons in left_out.items() if reasons} == NOT_RUN


def _reasons(found: list[Block]) -> Counter[str]:
    return Counter(
        block.comments["not run"] for block in found if "not run" in block.comments
    )


@pytest.mark.parametrize("page", pages())
def test_blocks_say_what_they_are(page: str) -> None:
    wrong = [
        f"{block.place}: {said}" for block in blocks(page) if (said := complaint(block))
    ]
    assert not wrong
