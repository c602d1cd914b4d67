import pytest
from aiokafka.partitioner import murmur2 as others_murmur2
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.murmur2 import murmur2, partition_of_key

# As `Utils.murmur2` of Apache Kafka's client says; from its own test.
JAVA = {
    b"21": -973932308,
    b"foobar": -790332482,
    b"a-little-bit-long-string": -985981536,
    b"a-little-bit-longer-string": -1486304829,
    b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
    b"abc": 479470107,
}


@pytest.mark.parametrize(("key", "expected"), JAVA.items())
def test_the_hash_is_that_of_javas_client(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected & 0xFFFFFFFF
    assert murmur2(memoryview(key)) == murmur2(key)


@given(st.binary(max_size=40))
def test_another_clients_hash_is_the_same(key: bytes) -> None:
    assert murmur2(key) & 0x7FFFFFFF == others_murmur2(key) & 0x7FFFFFFF


def test_a_key_has_one_partition_and_keys_are_spread() -> None:
    found = [partition_of_key(b"%d" % number, 7) for number in range(700)]
    assert set(found) == set(range(7))
    assert min(found.count(number) for number in range(7)) > 60
