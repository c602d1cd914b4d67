import errno
import os
from pathlib import Path

import pytest

from odradek.storage.files.descriptor import Descriptor


def test_the_last_holder_closes_it(tmp_path: Path) -> None:
    number = os.open(tmp_path / "file", os.O_CREAT | os.O_RDWR)
    held = [Descriptor(number)] * 2
    held.pop()
    os.fstat(number)
    held.clear()
    with pytest.raises(OSError, match=os.strerror(errno.EBADF)):
        os.fstat(number)
