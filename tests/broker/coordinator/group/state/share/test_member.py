from odradek.broker.coordinator.group.state.share.member import ShareMember


def test_a_new_one_has_nothing_and_reads_nothing() -> None:
    member = ShareMember("m")
    assert member.info.topic_names == ()
    assert (member.holding.epoch, member.holding.assigned) == (0, {})
