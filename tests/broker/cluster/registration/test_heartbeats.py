from odradek.broker.cluster.registration.heartbeats import Heartbeats


def test_an_answer_that_comes_after_two_intervals_is_late() -> None:
    heartbeats = Heartbeats(2_000)
    assert heartbeats.age_ms(50_000) is None
    heartbeats.note_answer(100_000)  # there was none before it
    heartbeats.note_answer(104_000)
    assert heartbeats.late_count == 0
    heartbeats.note_answer(108_001)
    assert heartbeats.late_count == 1
    assert heartbeats.age_ms(109_001) == 1_000
