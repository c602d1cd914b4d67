from odradek.storage.backup.cut import LogHold, take_cuts
from odradek.storage.backup.plan import BackupPlan, plan_running
from odradek.storage.formats.checkpoint import parse_offsets
from odradek.storage.formats.transaction_entry import (
    TransactionEntry,
    pack_transaction_entry,
)
from tests.fakes.files import FakeFiles
from tests.storage.backup.backups import (
    DATA,
    OTHER,
    A,
    B,
    append,
    log_of,
    manager_of,
    stopped,
    stopped_plan,
)


def names(plan: BackupPlan, *, closed: bool) -> set[str]:
    return {each.name for each in plan.files if each.is_closed is closed}


def segment(place: str, base_offset: int, *kinds: str) -> set[str]:
    return {f"{place}/{base_offset:020d}.{kind}" for kind in kinds}


def test_of_a_stopped_broker_everything_is_copied_but_closed_segments() -> None:
    files = FakeFiles()
    stopped(files)
    files.put(DATA / "a-0/00000000000000000009.log.deleted", b"x")
    files.put(DATA / "a-0/leader-epoch-checkpoint.tmp", b"x")
    files.put(DATA / "stranger", b"x")
    plan = stopped_plan(files)
    kinds = "log", "index", "timeindex"
    assert names(plan, closed=True) == (
        segment("0/a-0", 0, *kinds) | segment("0/a-0", 2, *kinds)
    )
    copied = names(plan, closed=False)
    assert segment("0/a-0", 4, *kinds, "snapshot") < copied
    assert {"0/catalog.db", "0/meta.properties", "0/a-0/partition.metadata"} < copied
    assert {"0/recovery-point-offset-checkpoint"} < copied
    assert not [each for each in copied if each.endswith((".tmp", ".deleted"))]
    assert not {"0/.kafka_cleanshutdown", "0/.lock", "0/stranger"} & copied


def running_plan(files: FakeFiles, goes_on: bool = False) -> BackupPlan:
    manager = manager_of(files, DATA, OTHER)
    logs = log_of(manager, A), log_of(manager, B, OTHER)
    holds = [LogHold(files, cut) for cut in take_cuts(manager)]
    for log in logs if goes_on else ():
        append(log, 1)
        log.local.active.transactions.append(TransactionEntry(1, 6, 7, 6))
    for hold in holds:
        hold.plan()
        hold.link()
    files.put(DATA / "catalog.cut", b"catalogue")
    cut = {
        "clusterId": "c",
        "nodeId": 1,
        "directories": [str(DATA), str(OTHER)],
        "catalog": str(DATA / "catalog.cut"),
        "missing": {"z-0": "offline"},
    }
    return plan_running(files, cut, [hold.described() for hold in holds])


def test_a_running_broker_gives_its_active_segments_up_to_the_cut() -> None:
    files = FakeFiles()
    plan = running_plan(files, goes_on=True)
    by_name = {each.name: each for each in plan.files}
    active = by_name[f"1/b-x-3/{4:020d}.log"]
    assert active.size is not None
    assert active.size < files.size(active.source)
    assert by_name[f"0/a-0/{4:020d}.txnindex"].size == 0
    assert f"0/a-0/{4:020d}.index" not in by_name
    assert by_name[f"0/a-0/{0:020d}.index"].is_closed
    assert by_name["0/catalog.db"].source == DATA / "catalog.cut"
    assert plan.missing == {"z-0": "offline"}


def test_checkpoints_are_written_as_the_cut_is() -> None:
    plan = running_plan(FakeFiles())
    points = plan.texts["1/recovery-point-offset-checkpoint"].decode()
    assert parse_offsets(points) == {B: 6}
    assert parse_offsets(plan.texts["0/log-start-offset-checkpoint"].decode()) == {}
    found = [
        (each.name, each.start_offset, each.end_offset) for each in plan.partitions
    ]
    assert found == [("0/a-0", 0, 6), ("1/b-x-3", 0, 6)]


def test_aborted_transactions_below_the_cut_are_kept() -> None:
    files = FakeFiles()
    manager = manager_of(files)
    log = log_of(manager, A)
    entry = TransactionEntry(1, 4, 5, 4)
    log.local.active.transactions.append(entry)
    (hold,) = [LogHold(files, cut) for cut in take_cuts(manager)]
    hold.plan()
    hold.link()
    files.put(DATA / "catalog.cut", b"")
    cut = {"clusterId": "c", "nodeId": 1, "directories": [str(DATA)], "missing": {}}
    cut["catalog"] = str(DATA / "catalog.cut")
    plan = plan_running(files, cut, [hold.described()])
    (found,) = [each for each in plan.files if each.name.endswith(".txnindex")]
    assert found.size == len(pack_transaction_entry(entry))
