"""The aborted transactions that a committed reader must leave out of what it got."""

from odradek.storage.values.log_read import AbortedTransaction

from .segments import LogSegments

_END = 1 << 63


def collect_aborted(
    segments: LogSegments, fetch_offset: int, upper_bound: int
) -> list[AbortedTransaction]:
    """The aborted transactions with records in a range of offsets.

    The range is ``fetch_offset`` up to ``upper_bound``, which is not above the last
    stable offset. They are in the order of their markers, none twice. Markers may lie
    in later segments than the range, so the search goes on until an index entry says
    that nothing older was open.

    Raises:
        CorruptIndex: a transaction index cannot be believed.
    """
    first = segments.floor(fetch_offset) or segments.first
    found, is_complete = first.transactions.search(fetch_offset, upper_bound)
    if is_complete:
        return found
    for segment in segments.values(first.base_offset, _END)[1:]:
        aborted, is_complete = segment.transactions.search(fetch_offset, upper_bound)
        found += aborted
        if is_complete:
            break
    return list(dict.fromkeys(found)) if len(found) > 1 else found
