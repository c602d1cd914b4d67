"""From the request to the logs, an option of a topic is parsed once."""

from pathlib import Path

import pytest

from odradek.broker.config.dynamic_config import Operation
from odradek.broker.handlers.options.alter_configs import (
    handle_incremental_alter_configs,
)
from odradek.broker.handlers.options.config_resources import ResourceType
from odradek.protocol.errors import ErrorCode
from odradek.protocol.messages.configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.counted_options import counted_options
from tests.fakes.replicas import replicas


async def test_only_what_changes_is_parsed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = counted_options(monkeypatch)
    async with replicas(tmp_path) as broker:
        options = {"flush_ms": "1", "segment_ms": "2", "retention_ms": "3"}
        await broker.create_topic("a", 2, **options)
        partitions = [
            broker.manager.partition(TopicPartition("a", number)) for number in (0, 1)
        ]
        assert sorted(parsed) == ["1", "2", "3"], "once, for both partitions"
        parsed.clear()
        changes = [
            AlterableConfig(name="flush.ms", config_operation=Operation.SET, value="4")
        ]
        resource = AlterConfigsResource(
            resource_type=ResourceType.TOPIC, resource_name="a", configs=changes
        )
        request = IncrementalAlterConfigsRequest(resources=[resource])
        answer = await handle_incremental_alter_configs(broker.context(1), request)
        assert answer.responses[0].error_code == ErrorCode.NONE
        assert parsed == ["4"]
        configs = [each.config for each in partitions]
        assert [(each.flush_ms, each.segment_ms) for each in configs] == [(4, 2)] * 2
