from typing_extensions import Buffer

def summarize(
    payload: Buffer, count: int, base_timestamp: int, /
) -> tuple[int, int, int, int]: ...
def index_records(payload: Buffer, count: int, rows: Buffer, /) -> None: ...
def walk_batches(
    data: Buffer,
    columns: Buffer,
    next_offset: int,
    offset_max: int,
    checks_crc: bool,
    /,
) -> tuple[int, int]: ...
