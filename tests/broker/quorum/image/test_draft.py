import pytest

from odradek.broker.quorum.image.draft import Draft, Section
from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.image import EMPTY, PartitionImage, TopicImage

TOPIC = TopicImage("t", b"t" * 16)


def test_a_section_is_shared_until_it_changes() -> None:
    shared = {1: "a"}
    section: Section[int, str] = Section(shared)
    section.remove(2)
    assert section.now is shared
    section.put(2, "b")
    section.remove(1)
    assert (section.now, shared) == ({2: "b"}, {1: "a"})
    assert section.get(1) is None


def draft_of_one_topic() -> Draft:
    draft = Draft(EMPTY)
    draft.topics.put(TOPIC.topic_id, TOPIC)
    draft.topic_ids.put("t", TOPIC.topic_id)
    draft.partitions(TOPIC.topic_id)[0] = PartitionImage((1,), (1,), 1, 0, 0)
    return draft


def test_the_partitions_of_a_topic_are_copied_once_for_each_image() -> None:
    first = draft_of_one_topic().image(3, 1)
    draft = Draft(first)
    own = draft.partitions(TOPIC.topic_id)
    assert own is draft.partitions(TOPIC.topic_id)
    own.clear()
    second = draft.image(4, 1)
    assert [*first.topics[TOPIC.topic_id].partitions] == [0]
    assert not second.topics[TOPIC.topic_id].partitions
    assert (first.offset, second.offset) == (3, 4)


def test_a_topic_goes_with_its_name_unless_another_one_has_it() -> None:
    draft = draft_of_one_topic()
    draft.topic_ids.put("t", b"u" * 16)
    assert draft.remove_topic(TOPIC.topic_id) == TOPIC
    image = draft.image(1, 1)
    assert image.topic_ids == {"t": b"u" * 16}
    assert not image.topics


def test_of_no_topic_there_is_nothing() -> None:
    draft = Draft(EMPTY)
    for call in (draft.topic, draft.partitions, draft.remove_topic):
        with pytest.raises(MetadataLogError, match="there is no topic d"):
            call(b"t" * 16)
