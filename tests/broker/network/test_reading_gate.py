from itertools import permutations

import pytest

from odradek.broker.network.reading_gate import (
    BACKLOG,
    FINISHING,
    FROZEN,
    FULL,
    MEMORY,
    MUTED,
    ReadingGate,
)

REASONS = (BACKLOG, FULL, MUTED, MEMORY, FINISHING, FROZEN)


class Told:
    """A transport that notes what it is told."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def pause_reading(self) -> None:
        self.calls.append("pause")

    def resume_reading(self) -> None:
        self.calls.append("resume")


def new() -> tuple[ReadingGate, Told]:
    transport = Told()
    return ReadingGate(transport), transport


def test_it_begins_open() -> None:
    gate, transport = new()
    assert gate.reasons == 0
    assert not gate.is_shut_for(sum(REASONS))
    assert transport.calls == []


@pytest.mark.parametrize("reason", REASONS)
def test_one_reason_pauses_and_its_end_resumes(reason: int) -> None:
    gate, transport = new()
    gate.shut(reason)
    assert gate.is_shut_for(reason)
    assert transport.calls == ["pause"]
    gate.open(reason)
    assert not gate.is_shut_for(reason)
    assert transport.calls == ["pause", "resume"]


def test_of_several_reasons_the_first_and_the_last_are_told() -> None:
    for order in permutations(REASONS):
        gate, transport = new()
        for reason in REASONS:
            gate.shut(reason)
        for reason in order:
            assert transport.calls == ["pause"]
            gate.open(reason)
        assert transport.calls == ["pause", "resume"]


def test_a_reason_counts_once_however_often_it_comes() -> None:
    gate, transport = new()
    gate.shut(FULL)
    gate.shut(FULL)
    gate.open(FULL)
    assert transport.calls == ["pause", "resume"]


def test_the_end_of_what_was_no_reason_is_not_told() -> None:
    gate, transport = new()
    gate.open(FULL)
    gate.shut(MUTED)
    gate.open(FULL)
    assert transport.calls == ["pause"]
    assert gate.reasons == MUTED


def test_any_of_several_is_asked_for_at_once() -> None:
    gate, _ = new()
    gate.shut(FULL)
    assert gate.is_shut_for(FULL | MUTED)
    assert not gate.is_shut_for(MUTED | MEMORY)


def test_a_transport_that_was_let_go_is_told_nothing() -> None:
    gate, transport = new()
    gate.shut(FULL)
    gate.let_go()
    gate.open(FULL)
    gate.shut(MUTED)
    assert transport.calls == ["pause"]
    assert gate.reasons == MUTED


def test_a_transport_is_told_again_while_there_is_a_reason() -> None:
    gate, transport = new()
    gate.pause_again()
    assert transport.calls == []
    gate.shut(FROZEN)
    gate.pause_again()
    assert transport.calls == ["pause", "pause"]
    gate.let_go()
    gate.pause_again()
    assert transport.calls == ["pause", "pause"]
