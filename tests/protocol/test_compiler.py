"""The compiled functions as a whole: against the plain twin, and against damage."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.compiler import decoder, encoder
from odradek.protocol.errors import MalformedRequest
from tests.plain import message_codec as plain
from tests.protocol.message_values import messages
from tests.protocol.sample_messages import VERSIONS, Sample, full_sample

SAMPLES = st.sampled_from(list(VERSIONS)).flatmap(
    lambda version: st.tuples(st.just(version), messages(Sample, version))
)


@given(SAMPLES)
def test_any_message_comes_back_and_agrees_with_the_twin(
    drawn: tuple[int, Sample],
) -> None:
    version, sample = drawn
    data = sample.encode(version)
    assert data == plain.encode(sample, version)
    assert Sample.decode(data, version) == sample
    assert plain.decode(Sample, data, version) == (sample, len(data))


@pytest.mark.parametrize("version", VERSIONS)
def test_message_cut_anywhere_is_malformed(version: int) -> None:
    data = memoryview(full_sample().encode(version))
    decode = decoder(Sample, version)
    assert decode(data, 0)[1] == len(data)
    for size in range(len(data)):
        with pytest.raises(MalformedRequest):
            decode(data[:size], 0)


@pytest.mark.parametrize("version", VERSIONS)
def test_changed_bytes_give_what_the_twin_says(version: int) -> None:
    draw = random.Random(version)
    data = full_sample().encode(version)
    outcomes = set()
    for _ in range(400):
        damaged = bytearray(data)
        for _ in range(draw.randrange(1, 4)):
            place = draw.randrange(len(damaged))
            damaged[place] = draw.choice((0, 1, 0x7F, 0x80, 0xFF, draw.randrange(256)))
        outcomes.add(_agrees_with_twin(bytes(damaged), version))
    assert outcomes == {True, False}


@given(st.binary(max_size=120), st.sampled_from(list(VERSIONS)))
def test_random_bytes_give_what_the_twin_says(data: bytes, version: int) -> None:
    _agrees_with_twin(data, version)


def _agrees_with_twin(data: bytes, version: int) -> bool:
    """Whether ``data`` is a message, of which both sides must have the same idea."""
    try:
        expected, size = plain.decode(Sample, data, version)
    except MalformedRequest:
        with pytest.raises(MalformedRequest):
            decoder(Sample, version)(memoryview(data), 0)
        return False
    sample, position = decoder(Sample, version)(memoryview(data), 0)
    # As bytes, because a NaN is not equal to itself.
    assert plain.encode(sample, version) == plain.encode(expected, version)
    assert position == size
    return True


def test_message_may_stand_anywhere() -> None:
    data = full_sample().encode(5)
    decode = decoder(Sample, 5)
    sample, position = decode(memoryview(b"before" + data + b"after"), 6)
    assert position == 6 + len(data)
    assert sample == Sample.decode(data, 5)


def test_functions_are_compiled_once() -> None:
    assert decoder(Sample, 3) is decoder(Sample, 3)
    assert encoder(Sample, 3) is encoder(Sample, 3)
    assert decoder(Sample, 3) is not decoder(Sample, 4)


@pytest.mark.parametrize("version", [-1, 6])
def test_version_must_exist(version: int) -> None:
    with pytest.raises(ValueError, match="Sample has no version"):
        decoder(Sample, version)
    with pytest.raises(ValueError, match="Sample has no version"):
        encoder(Sample, version)
