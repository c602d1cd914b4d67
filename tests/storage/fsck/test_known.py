from odradek.storage.fsck.known import Known


def test_what_was_durable() -> None:
    assert Known(was_clean=True).is_durable(10**9)
    assert not Known().is_durable(0)
    after_a_kill = Known(recovery_point=10)
    assert after_a_kill.is_durable(9)
    assert not after_a_kill.is_durable(10)
