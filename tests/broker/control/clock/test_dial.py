from odradek.broker.control.clock.dial import Dial


class Source:
    def __init__(self) -> None:
        self.now_ns = 100

    def __call__(self) -> int:
        return self.now_ns


def test_it_goes_as_its_source_and_is_moved() -> None:
    source = Source()
    dial = Dial(source)
    assert dial.now_ns() == 100
    dial.move(50)
    source.now_ns += 7
    assert dial.now_ns() == 157
    dial.move(-100)
    assert dial.now_ns() == 57


def test_it_goes_on_from_where_it_stood() -> None:
    source = Source()
    dial = Dial(source)
    dial.hold()
    source.now_ns += 1000
    assert dial.now_ns() == 100
    dial.hold()
    dial.move(5)
    assert dial.now_ns() == 105
    dial.let_go()
    source.now_ns += 1
    dial.let_go()
    assert dial.now_ns() == 106


def test_it_catches_up_with_what_it_stood_still() -> None:
    source = Source()
    dial = Dial(source)
    dial.hold()
    dial.move(5)
    source.now_ns += 1000
    dial.catch_up()
    assert dial.now_ns() == 1105
