import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from odradek.protocol.uuids import ZERO_UUID, from_text, hyphened, random_uuid, to_text


@given(st.binary(min_size=16, max_size=16))
def test_text_and_back(raw: bytes) -> None:
    text = to_text(raw)
    assert len(text) == 22
    assert from_text(text) == raw


def test_text_is_kafkas() -> None:
    assert to_text(ZERO_UUID) == "AAAAAAAAAAAAAAAAAAAAAA"
    assert to_text(bytes.fromhex("fb" * 16)) == "-_v7-_v7-_v7-_v7-_v7-w"
    assert to_text(bytes(15) + b"\x01") == "AAAAAAAAAAAAAAAAAAAAAQ"


@pytest.mark.parametrize(
    "text",
    ["", "A" * 21, "A" * 23, "A" * 20 + "==", "+" * 22, "/" * 22, "é" * 22, "!" * 22],
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - of several libraries
        from_text(text)


def test_random_ids_differ_and_are_no_option_of_a_command() -> None:
    ids = {random_uuid() for _ in range(2000)}
    assert len(ids) == 2000
    assert not any(to_text(raw).startswith("-") for raw in ids)
    assert {uuid.UUID(bytes=raw).version for raw in ids} == {4}


@given(st.binary(min_size=16, max_size=16))
def test_with_hyphens_it_is_what_others_write(raw: bytes) -> None:
    assert hyphened(raw) == str(uuid.UUID(bytes=raw))
