"""When a store is asked again."""

import pytest

from odradek.objects.errors import StoreAway, StoreRefused
from odradek.objects.retries import Retries


class Waiting:
    """A clock that moves by what is waited."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.pauses: list[float] = []

    def pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now_s += seconds


def retries(waiting: Waiting, chance: float = 1.0) -> Retries:
    return Retries(
        120, pause=waiting.pause, chance=lambda: chance, now_s=lambda: waiting.now_s
    )


def test_pauses_grow_and_are_bounded() -> None:
    waiting = Waiting()
    answers = [StoreAway("503")] * 8

    def ask() -> str:
        if answers:
            raise answers.pop()
        return "at last"

    assert retries(waiting).run(ask) == "at last"
    assert waiting.pauses == [0.5, 1, 2, 4, 8, 16, 30, 30]


def test_pauses_are_cut_at_random() -> None:
    waiting = Waiting()
    answers = [StoreAway("503")] * 2

    def ask() -> None:
        if answers:
            raise answers.pop()

    retries(waiting, chance=0.0).run(ask)
    assert waiting.pauses == [0.25, 0.5]


def test_it_ends() -> None:
    waiting = Waiting()

    def ask() -> None:
        raise StoreAway("503")

    with pytest.raises(StoreAway):
        retries(waiting).run(ask)
    assert 60 < waiting.now_s <= 120


def test_a_refusal_is_final() -> None:
    waiting = Waiting()

    def ask() -> None:
        raise StoreRefused("no")

    with pytest.raises(StoreRefused):
        retries(waiting).run(ask)
    assert not waiting.pauses
