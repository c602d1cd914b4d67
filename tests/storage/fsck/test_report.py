from odradek.storage.fsck.report import Findings, Place, Severity


def test_findings_of_one_sort_are_counted_when_there_are_many() -> None:
    findings = Findings()
    for number in range(25):
        findings.damage("batch", "a.log", f"number {number}", Place(number, number + 1))
    findings.note("leftover", "b.log", "left")
    findings.damage("batch", "c.log", "another file")
    messages = [finding.message for finding in findings]
    assert messages == [
        *(f"number {number}" for number in range(20)),
        "left",
        "another file",
        "5 more of this sort",
    ]
    assert findings.count(Severity.DAMAGE) == 26
    assert findings.count(Severity.NOTE) == 1
