"""Static members: restarts that nobody else notices (KIP-345)."""

from typing import Any

from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.group.rig import SESSION_MS, Groups


def scene(**options: Any) -> tuple[Groups, str, str]:
    """A stable group of two static members; the first one leads."""
    groups = Groups(**options)
    parked = [groups.join(instance=name) for name in ("one", "two")]
    groups.clock.advance(0)
    one, two = (each.result().member_id for each in parked)
    groups.settle([one, two])
    return groups, one, two


def test_its_id_begins_with_its_name() -> None:
    _, one, _ = scene()
    assert one.startswith("one-")


def test_t147_static_member_restart_no_rebalance_same_generation() -> None:
    groups, _, two = scene()
    answer = groups.join(instance="two")
    assert not answer.done()  # the new id is to be stored first
    groups.flush()
    again = answer.result()
    assert again.generation_id == 1
    assert again.member_id != two
    assert not again.skip_assignment  # it does not lead
    assert groups.group.state is ClassicState.STABLE
    assert groups.sync(again.member_id).assignment == two.encode()


def test_t147_the_leader_skips_the_assignment_and_is_told_the_members() -> None:
    groups, _, _ = scene()
    answer = groups.join(instance="one", knows_skip_assignment=True)
    groups.flush()
    again = answer.result()
    assert again.skip_assignment
    assert again.leader == again.member_id
    assert len(again.members) == 2


def test_t147_a_leader_that_cannot_skip_follows_its_old_id() -> None:
    groups, one, _ = scene()
    answer = groups.join(instance="one", knows_skip_assignment=False)
    groups.flush()
    again = answer.result()
    assert again.leader == one
    assert again.members == []


def test_t147_old_id_fenced_82() -> None:
    groups, one, two = scene()
    groups.join(instance="two")
    groups.flush()
    assert groups.beat(two, group_instance_id="two") == ErrorCode.FENCED_INSTANCE_ID
    assert groups.beat(two) == ErrorCode.UNKNOWN_MEMBER_ID
    assert groups.join(two, instance="two").code == ErrorCode.FENCED_INSTANCE_ID
    assert groups.sync(two, group_instance_id="two").code == 82
    assert groups.beat(one, group_instance_id="one") == ErrorCode.NONE


def test_what_the_old_one_waits_for_is_answered_fenced() -> None:
    groups, one, _ = scene()
    waiting = groups.join(one, instance="one")
    groups.join(instance="one")
    assert waiting.result().error_code == ErrorCode.FENCED_INSTANCE_ID


def test_another_protocol_brings_about_a_rebalance() -> None:
    groups, one, _ = scene()
    groups.join(instance="two", protocols=(("sticky", b""), ("range", b"r")))
    assert groups.group.state is ClassicState.STABLE  # range is still the common one
    groups.join(one, instance="one", protocols=(("sticky", b""), ("range", b"r")))
    assert groups.group.state is ClassicState.PREPARING_REBALANCE


def test_a_record_that_cannot_be_written_brings_the_old_member_back() -> None:
    groups, one, two = scene()
    groups.fail_appends()
    answer = groups.join(
        instance="two", protocols=(("range", b"new"),), client_id="restarted"
    )
    assert answer.result().error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert list(groups.group.members) == [one, two]
    assert groups.group.static_members["two"] == two
    assert groups.group.members[two].protocols == (("range", b"r"),)
    assert groups.group.members[two].client_id == "client"
    assert groups.beat(two, group_instance_id="two") == ErrorCode.NONE


def test_the_leader_comes_back_as_leader_after_a_failed_record() -> None:
    groups, one, _ = scene()
    groups.fail_appends()
    groups.join(instance="one")
    assert groups.group.is_leader(one)


def test_while_the_assignment_is_awaited_a_restart_begins_anew() -> None:
    groups = Groups()
    parked = [groups.join(instance=name) for name in ("one", "two")]
    groups.clock.advance(0)
    one, _ = (each.result().member_id for each in parked)
    syncing = groups.sync(one)
    groups.join(instance="two")
    assert syncing.result().error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert groups.group.state is ClassicState.PREPARING_REBALANCE


def test_it_survives_a_rebalance_that_it_misses_until_its_session_ends() -> None:
    groups, one, two = scene()
    new = groups.join(client_id="c", rebalance_timeout_ms=SESSION_MS // 2)
    answer = groups.join(one, instance="one", rebalance_timeout_ms=SESSION_MS // 2)
    groups.group.members[two].rebalance_timeout_ms = SESSION_MS // 2
    groups.clock.advance(60_000)
    assert new.done()
    assert answer.done()


def test_a_member_of_another_name_is_none() -> None:
    groups, one, _ = scene()
    assert groups.join(one, instance="two").code == ErrorCode.FENCED_INSTANCE_ID
    assert groups.join(one, instance="three").code == ErrorCode.UNKNOWN_MEMBER_ID


def test_after_a_restart_of_the_broker_its_name_is_known() -> None:
    groups, _, two = scene()
    groups.reload()
    answer = groups.join(instance="two")
    groups.flush()
    assert answer.result().generation_id == 1
    assert answer.result().member_id != two
