from odradek.terminal.spelling import did_you_mean


def test_a_near_miss_is_recognised() -> None:
    assert did_you_mean("num.partition", ["num.partitions", "log.dirs"]) == (
        "num.partitions"
    )
    assert did_you_mean("zzz", ["num.partitions"]) is None
