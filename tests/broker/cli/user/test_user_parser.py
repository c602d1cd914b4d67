from pathlib import Path

from odradek.broker.cli.user.user_parser import user_parser


def test_a_directory_is_not_asked_for_its_listeners(tmp_path: Path) -> None:
    parser = user_parser("user x", "What it does.", ["odradek user x"])
    options = parser.parse(["--data-dir", str(tmp_path)])
    assert options.data_dir == tmp_path
    assert "no listener is asked" in " ".join(parser.format_help().split())
