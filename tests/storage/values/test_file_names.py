from pathlib import Path

import pytest

from odradek.storage.values.file_names import LOG, base_offset_of, segment_path


def test_names_have_twenty_digits() -> None:
    path = segment_path(Path("/data/t-0"), 1500, LOG)
    assert path == Path("/data/t-0/00000000000000001500.log")


@pytest.mark.parametrize("suffix", [".log", ".timeindex", ".log.deleted", ".snapshot"])
def test_offset_is_read_from_a_name(suffix: str) -> None:
    assert base_offset_of(f"00000000000000001500{suffix}") == 1500


def test_other_names_have_none() -> None:
    with pytest.raises(ValueError, match="leader"):
        base_offset_of("leader-epoch-checkpoint")
