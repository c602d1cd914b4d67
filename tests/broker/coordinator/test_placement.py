import pytest

from odradek.broker.coordinator.placement import java_string_hash, partition_for


@pytest.mark.parametrize(
    ("text", "hashed"),
    [
        ("", 0),
        ("a", 97),
        ("hello", 99162322),
        ("polygenelubricants", -(1 << 31)),
        ("gr\u00fcppe", -1233264812),
        ("\U0001f600", 1772899),
    ],
)
def test_java_string_hash(text: str, hashed: int) -> None:
    assert java_string_hash(text) == hashed


def test_the_smallest_hash_has_no_absolute_value_and_takes_the_first_partition() -> (
    None
):
    assert partition_for("polygenelubricants", 50) == 0


@pytest.mark.parametrize(("key", "partition"), [("etl", 15), ("console-consumer", 40)])
def test_partition_for(key: str, partition: int) -> None:
    assert partition_for(key, 50) == partition
