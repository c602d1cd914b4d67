"""Payloads of records for property tests: good, slightly wrong, and noise."""

from hypothesis import strategies as st

from tests.plain.records import PlainRecord, write_record

INT64 = st.integers(-(2**63), 2**63 - 1)
nullable_bytes = st.none() | st.binary(max_size=80)
headers = st.lists(st.tuples(st.binary(max_size=9), nullable_bytes), max_size=3)
counts = st.integers(-2, 12)


@st.composite
def records(draw: st.DrawFn) -> list[PlainRecord]:
    count = draw(st.integers(0, 6))
    deltas = st.integers(-200, 200) | INT64
    return [
        PlainRecord(
            attributes=0,
            timestamp_delta=draw(deltas),
            offset_delta=place,
            key=draw(nullable_bytes),
            value=draw(nullable_bytes),
            headers=draw(headers),
        )
        for place in range(count)
    ]


@st.composite
def payloads(draw: st.DrawFn) -> tuple[bytes, int]:
    """A payload and the count that belongs to it."""
    made = draw(records())
    return b"".join(write_record(record) for record in made), len(made)


@st.composite
def mutated(draw: st.DrawFn) -> tuple[bytes, int]:
    """A good payload with a few bytes changed, added or cut, or another count."""
    payload, count = draw(payloads())
    data = bytearray(payload)
    for _ in range(draw(st.integers(1, 3))):
        position = draw(st.integers(0, max(len(data) - 1, 0)))
        match draw(st.sampled_from(["change", "insert", "cut", "flip", "count"])):
            case "change" if data:
                data[position] = draw(st.integers(0, 255))
            case "flip" if data:
                data[position] ^= 1 << draw(st.integers(0, 7))
            case "insert":
                data[position:position] = draw(st.binary(min_size=1, max_size=4))
            case "cut":
                del data[position : position + draw(st.integers(1, 4))]
            case _:
                count += draw(st.sampled_from([-1, 1]))
    return bytes(data), count


anything = payloads() | mutated() | st.tuples(st.binary(max_size=60), counts)
