from pathlib import Path

import pytest

from odradek.broker.cluster.images.metadata_log import NOWHERE, LogPosition
from odradek.broker.metadata.client_quotas import ClientQuotas, QuotaKey
from odradek.broker.metadata.features import SHARE_VERSION, Features
from odradek.broker.metadata.resource_options import (
    Resource,
    ResourceKind,
)
from odradek.broker.metadata.scram_credentials import ScramCredentials
from odradek.broker.metadata.topic import NewTopic, Topic
from odradek.protocol.errors import InvalidTopic, KafkaError, KafkaStorageError
from odradek.protocol.metadata_records import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    QuotaEntityData,
    UserScramCredentialRecord,
)
from odradek.protocol.scram import Mechanism
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cluster.cluster_state import broker, partition, topic, topic_id
from tests.broker.cluster.published import ANOTHER, US, set_option, world
from tests.broker.quorum.image.states import state


async def test_topics_come_widen_and_go(tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        a0 = topic("a"), partition("a", 0, US)
        await at.publish(*a0, set_option("a", "retention.ms", "1"))
        made = at.topics.known("a")
        assert made.topic_id == topic_id("a")
        assert made.options == {"retention.ms": "1"}
        assert at.leaders == {TopicPartition("a", 0): US}
        await at.publish(*a0, partition("a", 1, ANOTHER), topic("b"))
        assert at.names() == {"a": 2, "b": 0}
        assert at.topics.known("a").options == {}
        assert at.leaders[TopicPartition("a", 1)] == ANOTHER
        await at.publish(topic("b"))
        assert at.names() == {"b": 0}


async def test_a_topic_that_cannot_be_kept_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    a0 = topic("a"), partition("a", 0, US)
    async with world(tmp_path) as at:
        take = at.topics.take_topics

        async def refuse(wanted: list[NewTopic]) -> list[Topic | KafkaError]:
            return [InvalidTopic() for _ in wanted]

        at.topics.take_topics = refuse  # type: ignore[method-assign]
        await at.publish(*a0)
        await at.publish(*a0, topic("b"))
        at.topics.take_topics = take  # type: ignore[method-assign]
        await at.publish(*a0, topic("b"))
        assert at.names() == {"a": 1, "b": 0}
        assert at.leaders == {TopicPartition("a", 0): US}
    said = [each.message for each in caplog.records if "cannot be kept" in each.message]
    assert len(said) == 2


async def test_what_is_left_of_a_deleted_topic_keeps_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with world(tmp_path) as at:
        await at.publish(topic("a"), topic("b"))
        at.fails_after = True
        await at.publish(topic("b"), partition("b", 0, US))
        assert at.names() == {"b": 1}
        assert at.leaders == {TopicPartition("b", 0): US}
        assert "offsets are not forgotten yet" in caplog.text


async def test_a_topic_of_which_nothing_is_deleted_is_not_passed_over(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as at:
        await at.publish(topic("a"), topic("b"))
        before, after = at.image, state(topic("b"))
        at.fails_before = True
        with pytest.raises(KafkaStorageError):
            await at.publisher.publish(before, after)
        at.image, at.fails_before = after, False
        await at.publisher.publish(before, after)
        assert at.names() == {"b": 0}


async def test_nothing_is_passed_over_by_the_second_try(tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        take = at.topics.take_topics

        async def refuse(wanted: list[NewTopic]) -> list[Topic | KafkaError]:
            return [InvalidTopic() for _ in wanted]

        a0 = topic("a"), partition("a", 0, US)
        at.topics.take_topics = refuse  # type: ignore[method-assign]
        await at.publish(*a0)
        at.topics.take_topics = take  # type: ignore[method-assign]
        before, at.image, at.fails_late = at.image, state(*a0, topic("b")), True
        with pytest.raises(KafkaStorageError):
            await at.publisher.publish(before, at.image)
        assert at.leaders == {}
        at.fails_late = False
        await at.publisher.publish(before, at.image)
        assert at.leaders == {TopicPartition("a", 0): US}


async def test_nobody_leads_by_what_the_catalogue_does_not_have_yet(
    tmp_path: Path,
) -> None:
    place = TopicPartition("a", 0)
    async with world(tmp_path) as at:
        await at.publish(topic("a"), partition("a", 0, ANOTHER))
        ours = partition("a", 0, US)
        ours.leader_epoch = 4
        before, at.image, at.fails_late = at.image, state(topic("a"), ours), True
        with pytest.raises(KafkaStorageError):
            await at.publisher.publish(before, at.image)
        decided = at.publisher.decided(place)
        assert decided is not None
        assert decided.leader == ANOTHER
        at.fails_late = False
        await at.publisher.publish(before, at.image)
        assert at.leaders == {place: US}


async def test_a_new_topic_is_not_led_as_the_old_one_of_its_name(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as at:
        await at.publish(topic("a"), partition("a", 0, US))
        other, part = topic("a"), partition("other", 0, US)
        other.topic_id = topic_id("other")
        before, at.image, at.fails_late = at.image, state(other, part), True
        with pytest.raises(KafkaStorageError):
            await at.publisher.publish(before, at.image)
        assert at.publisher.decided(TopicPartition("a", 0)) is None


async def test_who_has_no_topics_has_begun_nothing(tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        await at.publish(broker(3))
        assert not at.topics.begun.is_set()


async def test_who_fails_with_new_options_keeps_nobody_else_from_them(
    tmp_path: Path,
) -> None:
    """For the second try there is nothing new about them."""
    heard: list[object] = []

    def fail(_: object) -> None:
        raise AssertionError("a bug")

    everything = (
        *(topic("a"), partition("a", 0, US)),
        *(set_option("a", "retention.ms", "1"), set_option("", "log.dirs", "x", 4)),
    )
    async with world(tmp_path) as at:
        await at.publish(*everything[:2])
        for watch in (at.topics.watch_options, at.resources.watch):
            watch(fail)
            watch(heard.append)
        before, at.image = at.image, state(*everything)
        for _ in range(2):
            with pytest.raises(AssertionError):
                await at.publisher.publish(before, at.image)
        await at.publisher.publish(before, at.image)
        assert len([each for each in heard if isinstance(each, Topic)]) == 1
        assert Resource(ResourceKind.BROKER, "") in heard


async def test_options_that_are_none_here_are_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    a0 = topic("a"), partition("a", 0, US)
    tiered = set_option("a", "remote.storage.enable", "true")
    async with world(tmp_path) as at:
        await at.publish(*a0, tiered, set_option("a", "retention.ms", "1"))
        assert at.topics.known("a").options == {"retention.ms": "1"}
        await at.publish(*a0, tiered, set_option("a", "segment.bytes", "14"))
        assert at.topics.known("a").options == {}
        await at.publish(*a0, tiered)
    said = [x.getMessage() for x in caplog.records if "is not used" in x.getMessage()]
    assert len(said) == 2


async def test_of_brokers_only_options_of_all_and_of_this_one_are_kept(
    tmp_path: Path,
) -> None:
    def of(broker: str) -> ConfigRecord:
        return set_option(broker, "ssl.keystore.password", broker or "all", kind=4)

    async with world(tmp_path) as at:
        await at.publish(of(""), of(str(US)), of(str(ANOTHER)))
        kept = dict(at.resources.all_of(ResourceKind.BROKER))
        assert kept.keys() == {"", str(US)}


async def test_what_no_record_was_about_is_not_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with world(tmp_path) as at:
        await at.publish(set_option("", "log.retention.ms", "5", kind=4))

        def look(*_: object) -> None:
            raise AssertionError("nothing has changed")

        for name in ("_options_in", "_quotas_in", "_credentials_in"):
            monkeypatch.setattr(f"odradek.broker.cluster.images.publisher.{name}", look)
        before, at.image = at.image, at.image._replace(offset=100)
        await at.publisher.publish(before, at.image)
        assert at.resources.of_brokers(US)[0] == {"log.retention.ms": "5"}


async def test_what_was_deleted_while_we_were_away_is_deleted(tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        await at.publish(topic("a"), partition("a", 0, US), topic("b"))
    async with world(tmp_path) as at:
        assert at.names() == {"a": 1, "b": 0}
        await at.publish(topic("b"))
        assert at.names() == {"b": 0}
        assert at.deletions == [True], "nobody knows why it is here"
        await at.publish(topic("c"))
        assert at.deletions == [True, False]


async def test_how_far_the_log_was_read_is_known_to_the_next_start(
    tmp_path: Path,
) -> None:
    async with world(tmp_path) as at:
        assert at.topics.read_until == NOWHERE
        await at.publish(topic("a"), partition("a", 0, ANOTHER))
        assert at.topics.read_until == LogPosition(1, 1)
        in_sync = partition("a", 0, ANOTHER, ANOTHER, 3)
        await at.publish(topic("a"), in_sync, broker(3), broker(4))
        assert at.topics.read_until == LogPosition(1, 1), "that is worth no commit"
        ours = partition("a", 0, ANOTHER, ANOTHER, US)
        await at.publish(topic("a"), ours, broker(3), broker(4), broker(5))
    async with world(tmp_path) as at:
        assert at.topics.read_until == LogPosition(1, 4)
        at.image = state(topic("a"), ours)
        newer = partition("a", 0, ANOTHER, ANOTHER, US)
        newer.leader_epoch = 4
        await at.publish(topic("a"), newer, *map(broker, range(3, 9)))
        assert at.topics.read_until == LogPosition(1, 7)


async def test_a_name_that_has_another_topic_now(tmp_path: Path) -> None:
    async with world(tmp_path) as at:
        await at.publish(topic("a"), partition("a", 0, US))
        other = topic("a")
        other.topic_id = topic_id("other")
        part = partition("other", 0, US)
        await at.publish(other, part)
        assert at.topics.known("a").topic_id == topic_id("other")


async def test_a_start_tells_leaders_though_the_catalogue_knows_the_topics(
    tmp_path: Path,
) -> None:
    everything = topic("a"), partition("a", 0, US)
    async with world(tmp_path) as at:
        await at.publish(*everything)
    async with world(tmp_path) as at:
        await at.publish(*everything)
        assert at.leaders == {TopicPartition("a", 0): US}
        decided = at.publisher.decided(TopicPartition("a", 0))
        assert decided is not None
        assert decided.leader == US
        assert at.publisher.decided(TopicPartition("a", 1)) is None


async def test_coordinators_go_with_the_leaders_of_their_topics(tmp_path: Path) -> None:
    name, place = "__consumer_offsets", TopicPartition("__consumer_offsets", 0)
    id_ = topic(name).topic_id[:16]
    made = topic(name)
    made.topic_id = id_
    ours = partition(name, 0, US)
    ours.topic_id = id_
    async with world(tmp_path) as at:
        await at.publish(made, ours)
        await at.publish(made, ours, topic("b"))  # nothing new for us
        theirs = partition(name, 0, ANOTHER)
        theirs.topic_id, theirs.leader_epoch = id_, 4
        await at.publish(made, theirs)
        again = partition(name, 0, US)
        again.topic_id, again.leader_epoch = id_, 5
        await at.publish(made, again)
        newer = partition(name, 0, US)
        newer.topic_id, newer.leader_epoch = id_, 7
        await at.publish(made, newer)  # others may have led in 6
    told = ["elect", "resign", "elect", "elect"]
    assert at.told == [(what, place) for what in told]
    assert at.new_epochs == [place] * 3


async def test_of_each_partition_new_epochs_are_told(tmp_path: Path) -> None:
    place = TopicPartition("a", 0)
    async with world(tmp_path) as at:
        await at.publish(topic("a"), partition("a", 0, US))
        later = partition("a", 0, US)
        later.leader_epoch += 1
        await at.publish(topic("a"), later)
        await at.publish(topic("a"), later, topic("b"))
    assert (at.new_epochs, at.told) == ([place], [])


async def test_what_an_unclean_election_has_left_to_us_is_reported(
    tmp_path: Path,
) -> None:
    ours, theirs = partition("a", 0, US), partition("a", 1, ANOTHER)
    ours.leader_recovery_state = theirs.leader_recovery_state = 1
    async with world(tmp_path) as at:
        await at.publish(topic("a"), ours, theirs)
        assert at.recovering == [(topic_id("a"), 0, 3)]


async def test_options_quotas_and_users(tmp_path: Path) -> None:
    quota = ClientQuotaRecord(
        entity=[QuotaEntityData(entity_type="user", entity_name="alice")],
        key="producer_byte_rate",
        value=1024.0,
    )
    user = UserScramCredentialRecord(
        name="alice",
        mechanism=Mechanism.SCRAM_SHA_256,
        salt=b"salt",
        stored_key=b"stored",
        server_key=b"server",
        iterations=4096,
    )
    of_all = set_option("", "log.retention.ms", "5", kind=4)
    async with world(tmp_path) as at:
        quotas, users = ClientQuotas(at.resources), ScramCredentials(at.resources)
        await at.publish(quota, user, of_all)
        found = quotas.find(QuotaKey.PRODUCE, "alice", "a client")
        assert found is not None
        assert found.limit == 1024
        credential = users.of("alice")[Mechanism.SCRAM_SHA_256]
        assert (credential.salt, credential.iterations) == (b"salt", 4096)
        assert at.resources.of_brokers(US)[0] == {"log.retention.ms": "5"}
        await at.publish(topic("a"))
        assert not quotas
        assert users.of("alice") == {}
        assert at.resources.of_brokers(US)[0] == {}


async def test_levels_are_those_of_the_cluster(tmp_path: Path) -> None:
    levels = [
        FeatureLevelRecord(name="metadata.version", feature_level=25),
        FeatureLevelRecord(name="transaction.version", feature_level=1),
    ]
    async with world(tmp_path) as at:
        features = Features(at.resources, transaction_version=2)
        assert features.level_of(SHARE_VERSION) == 1
        await at.publish(*levels)
        assert features.level_of("metadata.version") == 25
        assert features.level_of("transaction.version") == 1
        assert features.level_of(SHARE_VERSION) == 0  # off, where nobody says more
        assert features.epoch == 1


async def test_only_what_has_changed_is_decided_again(tmp_path: Path) -> None:
    """A leader has proposals on their way; and a topic may have many partitions."""
    first, second = partition("a", 0, US), partition("a", 1, US)
    first.leader_recovery_state = second.leader_recovery_state = 1
    place = TopicPartition("a", 1)
    async with world(tmp_path) as at:
        await at.publish(topic("a"), first, second)
        at.leaders.clear()
        at.recovering.clear()
        at.looked_at.clear()
        other = partition("a", 1, US)
        other.partition_epoch, other.leader_recovery_state = 6, 1
        await at.publish(topic("a"), first, other, topic("b"))
        assert at.leaders == {place: US}
        assert at.recovering == [(topic_id("a"), 1, 3)]
        assert at.looked_at == [place]


async def test_what_others_have_now_is_given_away(tmp_path: Path) -> None:
    first, second = TopicPartition("a", 0), TopicPartition("a", 1)
    async with world(tmp_path) as at:
        await at.publish(topic("a"), partition("a", 0, US), partition("a", 1, ANOTHER))
        assert at.gone == [({second}, True)], "nobody knows why it is here"
        moved = partition("a", 0, ANOTHER)
        moved.partition_epoch = 6
        await at.publish(topic("a"), moved, partition("a", 1, ANOTHER))
        assert at.gone[1:] == [({first}, False)]
