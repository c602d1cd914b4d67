from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.group.rig import Groups


def test_what_was_never_committed_is_no_error() -> None:
    (found,) = Groups().fetch()
    assert found.error_code == ErrorCode.NONE
    assert found.committed.offset == -1
    assert found.committed.leader_epoch == -1
    assert found.committed.metadata == ""


def test_everything_that_was_committed() -> None:
    groups = Groups()
    groups.commit(7, places=[("t", 0), ("t", 2), ("u", 1)])
    found = groups.fetch(None)
    assert {(each.topic, each.partition) for each in found} == {
        ("t", 0),
        ("t", 2),
        ("u", 1),
    }


def test_groups_do_not_see_each_other() -> None:
    groups = Groups()
    groups.commit(7)
    assert groups.fetch(group_id="other")[0].committed.offset == -1


class TestTransactions:
    def test_a_pending_offset_is_not_committed(self) -> None:
        groups = Groups()
        groups.commit(1)
        groups.in_transaction(5, 9)
        assert groups.offset() == 1

    def test_a_stable_answer_refuses_what_a_transaction_would_move(self) -> None:
        groups = Groups()
        groups.commit(1)
        groups.in_transaction(5, 9)
        (found,) = groups.fetch(require_stable=True)
        assert found.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT
        assert found.committed.offset == -1
        assert groups.fetch(None, require_stable=True)[0].error_code == 88

    def test_what_is_only_pending_is_told_to_who_asks_for_it(self) -> None:
        """As Apache Kafka does: everything is what has been committed."""
        groups = Groups()
        groups.in_transaction(5, 9)
        assert groups.fetch(None, require_stable=True) == []
        assert groups.fetch(None) == []
        (found,) = groups.fetch(require_stable=True)
        assert found.error_code == ErrorCode.UNSTABLE_OFFSET_COMMIT

    def test_a_commit_moves_it(self) -> None:
        groups = Groups()
        groups.commit(1)
        groups.in_transaction(5, 9)
        groups.end_transaction(5, is_commit=True)
        assert groups.offset() == 9
        assert groups.fetch(require_stable=True)[0].error_code == ErrorCode.NONE

    def test_an_abort_drops_it(self) -> None:
        groups = Groups()
        groups.commit(1)
        groups.in_transaction(5, 9)
        groups.end_transaction(5, is_commit=False)
        assert groups.offset() == 1
        assert groups.fetch(require_stable=True)[0].error_code == ErrorCode.NONE

    def test_a_later_plain_commit_is_not_overwritten(self) -> None:
        groups = Groups()
        groups.in_transaction(5, 9)
        groups.commit(20)
        groups.end_transaction(5, is_commit=True)
        assert groups.offset() == 20

    def test_of_two_producers_each_has_its_own(self) -> None:
        groups = Groups()
        groups.in_transaction(5, 9)
        groups.in_transaction(6, 10, "u")
        groups.end_transaction(6, is_commit=True)
        assert groups.offset("u") == 10
        assert groups.offset() == -1
        assert list(groups.state.offsets.pending_of_group("g"))

    def test_after_a_bumped_epoch_the_next_transaction_has_its_own(self) -> None:
        """The marker of the first has the epoch of the second one's records."""
        groups = Groups()
        groups.txn_commit(9, producer_epoch=0)
        groups.end_transaction(5, 1, is_commit=True)
        groups.txn_commit(11, producer_epoch=1, places=[("t", 0), ("u", 0)])
        assert groups.offset() == 9
        assert groups.fetch(require_stable=True)[0].error_code == 88
        groups.end_transaction(5, 2, is_commit=False)
        assert (groups.offset(), groups.offset("u")) == (9, -1)
        assert groups.fetch(require_stable=True)[0].committed.offset == 9

    def test_a_marker_that_comes_again_changes_nothing(self) -> None:
        groups = Groups()
        groups.txn_commit(9)
        groups.end_transaction(5, is_commit=True)
        groups.commit(20)
        groups.end_transaction(5, is_commit=True)
        assert groups.offset() == 20
