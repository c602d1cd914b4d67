import contextlib
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.errors import InvalidRecord
from odradek.protocol.otlp_metrics import Sample, read_metrics


def varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def field(number: int, value: Any) -> bytes:
    """One field: bytes and text with their length, ints as varints, else a double."""
    if isinstance(value, str):
        value = value.encode()
    if isinstance(value, bytes):
        return varint(number << 3 | 2) + varint(len(value)) + value
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 1) + struct.pack("<d", value)


def fixed(number: int, value: int) -> bytes:
    return varint(number << 3 | 1) + struct.pack("<q", value)


def attribute(key: str, value: bytes) -> bytes:
    return field(1, key) + field(2, value)


def data_of(*metrics: bytes) -> bytes:
    scope = b"".join(field(2, metric) for metric in metrics)
    resource = field(1, field(1, attribute("service", field(1, "x"))))
    return field(1, resource + field(2, field(1, b"scope") + scope))


GAUGE = (
    field(1, "a.gauge")
    + field(3, "ms")
    + field(
        5, field(1, field(7, attribute("client_id", field(1, "c"))) + field(4, 1.5))
    )
)
SUM = field(1, "a.sum") + field(7, field(1, fixed(6, -7)) + field(2, 1) + field(3, 1))
HISTOGRAM = field(1, "h") + field(
    9, field(1, fixed(4, 3) + field(5, 2.5) + field(9, attribute("n", field(3, 8))))
)


def test_numbers_are_read() -> None:
    samples = read_metrics(memoryview(data_of(GAUGE, SUM, HISTOGRAM)))
    assert samples == [
        Sample("a.gauge", (("client_id", "c"),), 1.5),
        Sample("a.sum", (), -7.0),
        Sample("h.count", (("n", "8"),), 3),
        Sample("h.sum", (("n", "8"),), 2.5),
    ]
    assert read_metrics(memoryview(b"")) == []


@pytest.mark.parametrize(
    "value", [(field(2, 1), "true"), (field(4, 0.5), "0.5"), (b"", "")]
)
def test_attributes_may_be_no_text(value: tuple[bytes, str]) -> None:
    point = field(7, attribute("k", value[0])) + field(4, 1.0)
    metric = field(1, "m") + field(5, field(1, point))
    [sample] = read_metrics(memoryview(data_of(metric)))
    assert sample.attributes == (("k", value[1]),)


def test_what_is_cut_is_refused() -> None:
    data = data_of(GAUGE)
    for end in range(1, len(data)):
        with pytest.raises(InvalidRecord):
            read_metrics(memoryview(data[:end]))


@given(st.binary(max_size=200))
def test_noise_is_read_or_refused(noise: bytes) -> None:
    with contextlib.suppress(InvalidRecord):
        read_metrics(memoryview(noise))


def test_a_number_is_no_text() -> None:
    with pytest.raises(InvalidRecord):
        read_metrics(memoryview(data_of(field(1, 1 << 40))))


def test_there_is_a_limit() -> None:
    many = data_of(*[field(1, "m") + field(5, field(1, field(4, 1.0)))] * 10_001)
    assert len(read_metrics(memoryview(many))) == 10_000
