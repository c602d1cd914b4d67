from typing_extensions import Buffer

def summarize(
    payload: Buffer, count: int, base_timestamp: int, /
) -> tuple[int, int, int, int]: ...
def index_records(payload: Buffer, count: int, rows: Buffer, /) -> None: ...
def check_usual(
    batch: Buffer,
    now_ms: int,
    before_max_ms: int,
    after_max_ms: int,
    takes_null_keys: bool,
    /,
) -> tuple[int, ...] | None: ...
def find_usual_batch(
    frame: Buffer, by_id: bool, /
) -> tuple[int, bytes, int, int] | None: ...
def walk_batches(
    data: Buffer,
    columns: Buffer,
    next_offset: int,
    offset_max: int,
    checks_crc: bool,
    /,
) -> tuple[int, int]: ...
def map_keys(
    data: Buffer,
    slots: Buffer,
    secret: Buffer,
    start_offset: int,
    room: int,
    stops_at: int,
    /,
) -> tuple[int, int, int, bool]: ...
def keep_latest(
    data: Buffer,
    slots: Buffer,
    secret: Buffer,
    target: Buffer,
    pinned: Buffer,
    latest_offset: int,
    now_ms: int,
    stops_at: int,
    /,
) -> tuple[int, int, int, int, int, int]: ...
def latest_commits(
    data: Buffer,
    slots: Buffer,
    secret: Buffer,
    rows: Buffer,
    position: int,
    records_max: int,
    /,
) -> tuple[int, int, int, int]: ...
def walk_records(
    data: Buffer, positions: Buffer, columns: Buffer, /
) -> tuple[int, int]: ...
def walk_headers(data: Buffer, positions: Buffer, columns: Buffer, /) -> int: ...
def gather(
    data: Buffer,
    positions: Buffer,
    lengths: Buffer,
    offsets: Buffer,
    target: Buffer,
    /,
) -> int: ...
def encode_columns(
    keys: Buffer,
    key_positions: Buffer,
    key_lengths: Buffer,
    values: Buffer,
    value_positions: Buffer,
    value_lengths: Buffer,
    headers: Buffer,
    header_positions: Buffer,
    header_lengths: Buffer,
    timestamps: Buffer,
    target: Buffer,
    first: int,
    /,
) -> tuple[int, int]: ...
def place_keys(
    data: Buffer,
    positions: Buffer,
    lengths: Buffer,
    target: Buffer,
    partitions: int,
    /,
) -> None: ...
def read_objects(
    data: Buffer,
    offsets: Buffer,
    kinds: Buffer,
    states: Buffer,
    cells: Buffer,
    names: tuple[bytes, ...],
    /,
) -> int: ...
