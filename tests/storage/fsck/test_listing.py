from odradek.storage.fsck.known import Known
from odradek.storage.fsck.listing import list_partition
from odradek.storage.fsck.report import Findings, Severity

BASES = (f"{0:020d}", f"{36:020d}")
SIDE = ["leader-epoch-checkpoint", "partition.metadata", "quarantine"]
UNKNOWN = Known()


def found(names: list[str], known: Known = UNKNOWN) -> set[tuple[str, str, Severity]]:
    findings = Findings()
    list_partition(names).tell(findings, known)
    return {(one.code, one.file, one.severity) for one in findings}


def test_a_partition_in_order() -> None:
    names = [f"{base}{kind}" for base in BASES for kind in (".log", ".index")]
    listing = list_partition([*names, f"{BASES[1]}.snapshot", *SIDE])
    assert (listing.logs, listing.snapshots) == ([0, 36], [36])
    assert [listing.orphans, listing.leftovers, listing.strangers] == [[], [], []]


def test_leftovers_and_strangers_are_noted() -> None:
    names = [f"{BASES[0]}.log{kind}" for kind in (".deleted", ".cleaned", ".swap")]
    names += ["leader-epoch-checkpoint.tmp", "notes.txt", "1.log"]
    assert found(names) == {
        *(("leftover", name, Severity.NOTE) for name in names[:4]),
        ("stranger", "notes.txt", Severity.NOTE),
        ("stranger", "1.log", Severity.NOTE),
    }


def test_an_index_without_a_log() -> None:
    orphan, log = f"{BASES[1]}.timeindex", f"{BASES[0]}.log"
    assert found([log, orphan]) == {("orphan", orphan, Severity.DAMAGE)}
    # It is being deleted, or lies below what is kept: nothing is lost.
    assert ("orphan", orphan, Severity.NOTE) in found(
        [log, orphan, f"{BASES[1]}.log.deleted"]
    )
    assert found([log, orphan], Known(log_start_offset=40)) == {
        ("orphan", orphan, Severity.NOTE)
    }
    first = f"{BASES[0]}.index"
    assert found([f"{BASES[1]}.log", first]) == {("orphan", first, Severity.NOTE)}


def test_leftovers_of_one_sort_are_one_note() -> None:
    names = [f"{base:020d}.log.deleted" for base in range(40)]
    findings = Findings()
    list_partition(names).tell(findings, UNKNOWN)
    (finding,) = findings
    assert finding.file == names[0]
    assert finding.message.endswith("(and 39 others like it)")
