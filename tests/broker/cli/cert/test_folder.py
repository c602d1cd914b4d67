import argparse
from pathlib import Path

from odradek.broker.cli.cert.folder import folder_of, refused
from odradek.broker.security.issuing.issuer import IssuingError


def test_paths_are_whole_ones() -> None:
    folder = folder_of(argparse.Namespace(dir=Path("x")))
    assert folder.ca == Path.cwd() / "x" / "ca.pem"


def test_what_went_wrong_is_one_line() -> None:
    assert refused(IssuingError("no")) == "no"
    assert refused(PermissionError(13, "Permission denied", "/x")) == (
        "/x: Permission denied"
    )
    assert refused(OSError("odd")) == "odd"
