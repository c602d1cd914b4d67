import pytest

from odradek.broker.adoption.metadata import AdoptionError, ClusterMetadata
from odradek.broker.adoption.options import AdoptedOptions, check_overrides
from odradek.broker.config.live_config import with_changes
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.protocol.errors import InvalidConfig

BROKER = BrokerConfig()


def options(
    metadata: ClusterMetadata | None = None, **overrides: dict[str, str]
) -> AdoptedOptions:
    named = {"*" if name == "every" else name: each for name, each in overrides.items()}
    return AdoptedOptions(metadata, named, BROKER)


def test_without_metadata_everything_is_kept() -> None:
    keep = {"retention.ms": "-1", "retention.bytes": "-1"}
    assert options().of_topic("t") == keep
    for name in ("__consumer_offsets", "__transaction_state"):
        assert options().of_topic(name) == keep | {"cleanup.policy": "compact"}


def test_what_share_groups_have_done_is_not_compacted() -> None:
    """Its records are increments."""
    keep = {"retention.ms": "-1", "retention.bytes": "-1"}
    metadata = ClusterMetadata()
    metadata.topic_options["__share_group_state"] = {"retention.ms": "-1"}
    for known in (None, metadata):
        chosen = options(known).of_topic("__share_group_state")
        assert chosen == keep | {"cleanup.policy": "delete"}


def test_what_the_operator_says_is_stronger_and_a_name_strongest() -> None:
    chosen = options(
        every={"retention.ms": "1", "flush.ms": "5"}, t={"retention.ms": "2"}
    )
    assert chosen.of_topic("t") == {
        "retention.ms": "2",
        "retention.bytes": "-1",
        "flush.ms": "5",
    }
    assert chosen.of_topic("other")["retention.ms"] == "1"


def test_known_options_are_carried_over_and_others_told() -> None:
    metadata = ClusterMetadata()
    metadata.topic_options["t"] = {
        "segment.bytes": "1048576",
        "errors.to.come": "1",
        "remote.storage.enable": "false",
        "retention.ms": "soon",
    }
    chosen = options(metadata)
    assert chosen.of_topic("t") == {
        "segment.bytes": "1048576",
        "remote.storage.enable": "false",
    }
    assert [note.split(" is ")[0] for note in chosen.notes] == [
        "topic t: errors.to.come=1",
        "topic t: retention.ms=soon",
        "no retention.ms",
    ]
    assert chosen.of_topic("u") == {}


def test_a_topic_of_which_records_lie_elsewhere_is_refused_unless_it_is_said() -> None:
    metadata = ClusterMetadata()
    metadata.topic_options["t"] = {"remote.storage.enable": "true", "flush.ms": "5"}
    without = "--topic-config t:remote.storage.enable=false"
    with pytest.raises(AdoptionError, match=without):
        options(metadata).of_topic("t")
    for said in ("t", "every"):
        chosen = options(metadata, **{said: {"remote.storage.enable": "false"}})
        assert chosen.of_topic("t") == {
            "remote.storage.enable": "false",
            "flush.ms": "5",
        }


def test_topics_that_have_the_brokers_retention_are_told() -> None:
    metadata = ClusterMetadata()
    metadata.topic_options = {
        "keeps": {"retention.ms": "-1"},
        "compacts": {"cleanup.policy": "compact"},
    }
    chosen = options(metadata)
    for name in ("keeps", "compacts", "__consumer_offsets"):
        chosen.of_topic(name)
    assert chosen.notes == []
    for number in range(7):
        chosen.of_topic(f"t{number}")
    (told,) = chosen.notes
    assert told.startswith("no retention.ms is set for t0, t1, t2, t3, t4 and 2 more:")


def test_topics_have_the_retention_that_was_set_for_the_broker() -> None:
    broker = with_changes(BROKER, {"log.retention.ms": "9"}, {})
    chosen = AdoptedOptions(ClusterMetadata(), {}, broker)
    assert chosen.of_topic("t") == {}
    assert chosen.notes == []


def test_what_no_topic_can_have_is_refused() -> None:
    check_overrides({"t": {"retention.ms": "5"}}, BROKER)
    with pytest.raises(InvalidConfig, match=r"did you mean retention\.ms"):
        check_overrides({"t": {"retention.mss": "5"}}, BROKER)


def test_what_contradicts_the_rest_is_refused() -> None:
    metadata = ClusterMetadata()
    metadata.topic_options["t"] = {"max.compaction.lag.ms": "5"}
    chosen = options(metadata, t={"min.compaction.lag.ms": "6"})
    with pytest.raises(AdoptionError, match="the options of topic t: conflict"):
        chosen.of_topic("t")
