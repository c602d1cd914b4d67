import subprocess
import sys

import crc32c as package
import pytest

from odradek.protocol import checksum


def test_check_value_of_the_polynomial() -> None:
    assert checksum.crc32c(b"123456789") == 0xE3069283


def test_views_need_no_copy_and_pieces_can_be_chained() -> None:
    data = memoryview(bytearray(b"123456789"))
    assert checksum.crc32c(data[4:], checksum.crc32c(data[:4])) == 0xE3069283


def test_agrees_with_the_package_loaded_beside_it() -> None:
    data = bytes(range(256)) * 33
    assert checksum.crc32c(data) == package.crc32c(data)


def test_import_stays_out_of_the_installed_metadata() -> None:
    code = (
        "import sys, odradek.protocol.checksum; print('email.message' in sys.modules)"
    )
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_package_is_used_where_its_extension_is_not_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checksum.PathFinder, "find_spec", lambda *_: None)
    assert checksum._load() is package.crc32c
