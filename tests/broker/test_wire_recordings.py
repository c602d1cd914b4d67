"""Our answers are the real broker's; where they are not, it says here why."""

from pathlib import Path

import pytest

import broker.handlers
from broker.handlers.registry import registered_handlers
from tests.broker_process import running_broker
from tests.wire_replay import Replay, recorded_group

GROUPS = (
    "api-versions",
    "framing",
    "metadata",
    "produce-versions",
    "produce-errors",
    "produce-limits",
    "produce-idempotent",
    "fetch-versions",
    "fetch-offsets",
    "fetch-sizes",
    "fetch-epochs",
    "list-offsets",
    "create-topics",
    "create-partitions",
    "cluster-admin",
    "find-coordinator",
    "init-producer-id",
    "no-auto-create",
)
OPTIONS = {"no-auto-create": ["-o", "auto.create.topics.enable=false"]}

# (group, step, path or "*"): why our answer is another one.
JUSTIFIED: dict[tuple[str, int, str], str] = {}


@pytest.mark.parametrize("group", GROUPS)
def test_answers_are_apache_kafkas(tmp_path: Path, group: str) -> None:
    broker.handlers.load()
    handlers = registered_handlers()
    responses = {key: handler.response_class for key, handler in handlers.items()}
    unexplained, explained = [], set()
    options = OPTIONS.get(group, [])
    with running_broker(tmp_path / "data", *options) as process:
        replay = Replay(("127.0.0.1", process.port), responses)
        for step in recorded_group(group):
            if step.get("api_key", 18) not in responses:
                continue  # an API of later work
            for difference in replay.play(step):
                number, path = step["step"], difference.path
                keys = {(group, number, path), (group, number, "*")} & set(JUSTIFIED)
                explained |= keys
                if not keys:
                    unexplained.append((number, step["description"], difference))
        replay.close()
        assert "Traceback" not in process.log()
    assert not unexplained, "\n".join(map(str, unexplained))
    stale = {key for key in JUSTIFIED if key[0] == group} - explained
    assert not stale, "these differences are gone"
