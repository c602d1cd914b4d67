"""Group requests to handlers of a broker that is only a replica manager."""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from odradek.broker.handlers.groups.classic_groups import (
    handle_heartbeat,
    handle_join_group,
    handle_leave_group,
    handle_sync_group,
)
from odradek.broker.runtime.parked import Parked
from odradek.protocol.compiler import decoder
from odradek.protocol.messages.groups import (
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    LeaveGroupRequest,
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from tests.fakes.files import FakeFiles
from tests.fakes.replicas import Replicas, replicas

GROUP = "g"


class GroupClient:
    """Answers are decoded from their bytes; those that wait are waited for."""

    def __init__(self, broker: Replicas) -> None:
        self.broker = broker

    async def join(self, version: int = 9, **fields: Any) -> Any:
        fields.setdefault("group_id", GROUP)
        fields.setdefault("session_timeout_ms", 10_000)
        fields.setdefault("protocol_type", "consumer")
        fields.setdefault(
            "protocols", [JoinGroupRequestProtocol(name="range", metadata=b"r")]
        )
        request = JoinGroupRequest(**fields)
        return await self.told(handle_join_group, request, version)

    async def sync(self, version: int = 5, **fields: Any) -> Any:
        given = fields.pop("given", {})
        fields.setdefault("group_id", GROUP)
        request = SyncGroupRequest(
            assignments=[
                SyncGroupRequestAssignment(member_id=each, assignment=value)
                for each, value in given.items()
            ],
            **fields,
        )
        return await self.told(handle_sync_group, request, version)

    async def beat(self, version: int = 4, **fields: Any) -> int:
        fields.setdefault("group_id", GROUP)
        request = HeartbeatRequest(**fields)
        answer = await self.told(handle_heartbeat, request, version)
        return int(answer.error_code)

    async def leave(self, version: int = 5, **fields: Any) -> Any:
        fields.setdefault("group_id", GROUP)
        return await self.told(handle_leave_group, LeaveGroupRequest(**fields), version)

    async def told(self, handle: Any, request: Any, version: int) -> Any:
        """What a handler answers, as it is on the wire."""
        answer = handle(self.broker.context(version), request)
        if isinstance(answer, Parked):
            for _ in range(10):  # timers, disks and what follows them
                await self.broker.clock.tick()
                await self.broker.commit()
                if answer.done():
                    break
            answer = answer.result()
        data = memoryview(answer.encode(version))
        return decoder(type(answer), version)(data, 0)[0]

    async def member(self) -> str:
        """The id of a member that is alone in a stable group."""
        joined = await self.join(version=3)
        assert joined.error_code == 0, joined
        synced = await self.sync(
            version=2,
            member_id=joined.member_id,
            generation_id=joined.generation_id,
            given={joined.member_id: b"all"},
        )
        assert synced.assignment == b"all"
        return str(joined.member_id)


@contextlib.asynccontextmanager
async def group_client(
    directory: Path, files: FakeFiles | None = None, **options: Any
) -> AsyncIterator[GroupClient]:
    """A broker that has ``__consumer_offsets``."""
    options.setdefault("offsets_topic_num_partitions", 3)
    async with replicas(directory, files, **options) as broker:
        if not broker.services.groups.has_topic:
            await broker.services.groups.create_topic()
        try:
            yield GroupClient(broker)
        finally:
            await broker.services.groups.close()
        assert not broker.bugs, broker.bugs
