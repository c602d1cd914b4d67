from pathlib import Path

from odradek.broker.control.removal import remove_topics
from tests.broker.control.asked import append
from tests.fakes.replicas import batch_of, replicas


async def test_files_go_before_it_returns_and_nothing_is_left_to_do(
    tmp_path: Path,
) -> None:
    async with replicas(tmp_path, durability="none") as broker:
        place = await broker.create_topic()
        append(broker, place, batch_of(b"x"))
        broker.services.groups.load_all()
        topic_id = broker.topics.known("t").topic_id
        await remove_topics(broker.services, [topic_id])
        assert not [path for path in broker.files.paths() if path.suffix == ".log"]
        assert not broker.topics.deletions
        assert await broker.create_topic() == place  # its name is free
