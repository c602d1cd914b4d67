"""What is recognised at once is what the validator would have stored unchanged."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.control_records import (
    MARKER_SIZE,
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.errors import KafkaError
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.validation.usual_batch import rules_of, usual_batch, usual_marker
from odradek.storage.validation.validator import ValidBatch
from odradek.storage.values.log_config import LogConfig
from tests.storage.produced_batches import (
    CLIENT,
    CONFIG,
    COORDINATOR,
    HOUR,
    NOW,
    batch,
    changed,
    checked,
)

CONFIGS = [
    CONFIG,
    LogConfig(cleanup_policy=frozenset({"compact"})),
    LogConfig(message_timestamp_type="LogAppendTime"),
    LogConfig(compression_type="zstd"),
    LogConfig(compression_type="uncompressed"),
    LogConfig(max_message_bytes=100),
    LogConfig(message_timestamp_before_max_ms=5, message_timestamp_after_max_ms=5),
]

records = st.lists(
    st.builds(
        NewRecord,
        st.none() | st.binary(max_size=3),
        st.none() | st.binary(max_size=20),
        st.integers(NOW - 10, NOW + 10) | st.integers(-3, 3),
    ),
    min_size=1,
    max_size=5,
)
# Header fields that matter to somebody, mostly with values that are almost right.
small = st.integers(-2, 2)
lies = st.dictionaries(
    st.sampled_from(
        ["base_offset", "last_offset_delta", "records_count", "producer_id"]
        + ["base_sequence", "magic", "batch_length"]
    ),
    small,
    max_size=2,
) | st.fixed_dictionaries(
    {},
    optional={
        "attributes": st.integers(0, 0x7F),
        "max_timestamp": small | st.integers(NOW - 10, NOW + 10),
        "base_timestamp": small | st.integers(NOW - 10, NOW + 10),
    },
)


def usual(data: bytearray, config: LogConfig = CONFIG) -> ValidBatch | None:
    return usual_batch(memoryview(data), rules_of(config), NOW)


@given(records, lies, st.sampled_from(CONFIGS), st.sampled_from([0, 0, 0, 1]))
def test_the_validator_says_the_same(
    made: list[NewRecord], lies: dict[str, int], config: LogConfig, compression: int
) -> None:
    sent = changed(build_batch(made, compression=compression), **lies)
    before = bytes(sent)
    valid = usual(sent, config)
    if valid is not None:
        for origin in (CLIENT, COORDINATOR):
            assert checked(memoryview(sent), config, origin) == valid
        assert sent == before  # as it came


@given(st.integers(0, 10_000), st.integers(0, 7))
def test_one_flipped_bit_is_never_unnoticed(place: int, bit: int) -> None:
    sent = batch(5)
    sent[place % len(sent)] ^= 1 << bit
    valid = usual(sent)
    if valid is not None:  # the leader epoch, which the broker gives
        assert checked(memoryview(sent)) == valid
        assert 12 <= place % len(sent) < 16


@given(st.binary(max_size=300))
def test_noise_is_not_usual(noise: bytes) -> None:
    assert usual(bytearray(noise)) is None


@pytest.mark.parametrize("count", [1, 100])
@pytest.mark.parametrize("producer", [{}, {"producer_id": 7, "base_sequence": 0}])
def test_what_clients_send_is_usual(count: int, producer: dict[str, int]) -> None:
    sent = batch(count, **producer)
    assert usual(sent) == checked(memoryview(sent))
    keyless = build_batch([NewRecord(None, b"value", NOW)])
    assert usual(keyless) == checked(memoryview(keyless))


@pytest.mark.parametrize("config", CONFIGS[2:6])
def test_topics_that_change_or_refuse_batches(config: LogConfig) -> None:
    assert usual(batch(5), config) is None


def test_a_compacted_topic_takes_no_record_without_key() -> None:
    assert usual(batch(), CONFIGS[1]) is not None
    assert usual(build_batch([NewRecord(None, b"v", NOW)]), CONFIGS[1]) is None


@pytest.mark.parametrize("time", [NOW - HOUR, NOW + HOUR])
def test_records_out_of_time_are_looked_at_closely(time: int) -> None:
    within = replace(CONFIG, message_timestamp_before_max_ms=HOUR)
    beyond = replace(
        CONFIG,
        message_timestamp_before_max_ms=HOUR - 1,
        message_timestamp_after_max_ms=HOUR - 1,
    )
    sent = build_batch([NewRecord(b"k", b"v", time)])
    assert usual(sent, within) == checked(memoryview(sent), within)
    assert usual(sent, beyond) is None
    with pytest.raises(KafkaError):
        checked(sent, beyond)


@pytest.mark.parametrize("kind", [ControlType.ABORT, ControlType.COMMIT])
def test_a_marker_that_was_just_built(kind: ControlType) -> None:
    marker = build_marker_batch(EndTxnMarker(kind, 3), 7, 1, NOW)
    rules = rules_of(CONFIG)
    found = usual_marker(memoryview(marker), rules, NOW)
    assert found == checked(memoryview(marker), CONFIG, COORDINATOR)
    assert usual_marker(memoryview(marker), rules, NOW + 1) is None, "it may be damaged"
    assert usual_marker(marker, rules, NOW) is None
    assert usual_marker(memoryview(marker), None, NOW) is None
    small = rules_of(replace(CONFIG, max_message_bytes=MARKER_SIZE - 1))
    assert usual_marker(memoryview(marker), small, NOW) is None
    data = build_batch([NewRecord(b"k" * 4, b"v" * 5, NOW)], is_transactional=True)
    assert len(data) <= MARKER_SIZE
    data += bytes(MARKER_SIZE - len(data))
    assert usual_marker(memoryview(data), rules, NOW) is None


def test_what_cannot_be_changed_in_place_is_copied_elsewhere() -> None:
    sent = batch()
    rules = rules_of(CONFIG)
    assert usual_batch(memoryview(sent), rules, NOW) is not None
    for each in (sent, bytes(sent), memoryview(bytes(sent))):
        assert usual_batch(each, rules, NOW) is None
