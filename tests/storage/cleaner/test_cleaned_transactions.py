from odradek.protocol.record_batch import BatchHeader, read_header
from odradek.protocol.records import NewRecord, build_batch
from odradek.storage.cleaner.cleaned_transactions import CleanedTransactions
from odradek.storage.formats.transaction_entry import TransactionEntry

FIRST = TransactionEntry(1, 0, 4, 0)
SECOND = TransactionEntry(1, 6, 9, 6)
OTHER = TransactionEntry(2, 2, 5, 0)


def batch(offset: int, producer_id: int, count: int = 1, **fields: bool) -> BatchHeader:
    fields.setdefault("is_transactional", True)
    return read_header(
        build_batch(
            [NewRecord(b"k")] * count,
            base_offset=offset,
            producer_id=producer_id,
            **fields,
        )
    )


def test_records_of_aborted_transactions_are_told_from_others() -> None:
    transactions = CleanedTransactions([OTHER, SECOND, FIRST, FIRST])
    assert transactions.is_aborted(batch(0, 1))
    assert not transactions.is_aborted(batch(1, 3))
    assert transactions.is_aborted(batch(2, 2))
    assert not transactions.is_aborted(batch(3, 1, is_transactional=False))
    assert transactions.end(batch(4, 1), is_commit=False) == (True, FIRST)
    assert transactions.end(batch(5, 2), is_commit=False) == (True, OTHER)
    assert transactions.is_aborted(batch(6, 1, count=3))
    assert transactions.end(batch(9, 1), is_commit=False) == (True, SECOND)
    assert not transactions.is_aborted(batch(10, 1)), "a later one"
    assert transactions.end(batch(11, 1), is_commit=True) == (True, None)


def test_markers_whose_records_are_gone_say_so() -> None:
    transactions = CleanedTransactions([FIRST])
    assert transactions.end(batch(4, 1), is_commit=False) == (False, None)
    assert transactions.end(batch(5, 1), is_commit=True) == (False, None)
    assert transactions.end(batch(6, 8), is_commit=False) == (False, None)
