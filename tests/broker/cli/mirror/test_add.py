from pathlib import Path

import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from tests.broker.cli.mirror.conftest import Pair
from tests.client.live import create_topic, wait_until


def test_what_cannot_be_a_mirror_is_refused(pair: Pair) -> None:
    nobody = ("--from", "127.0.0.1:1")
    assert "127.0.0.1:1: Connection refused" in pair.run("add", "x", *nobody, code=1)
    itself = ("--from", pair.ours.address)
    assert "is this very cluster" in pair.run("add", "x", *itself, code=1)
    there = ("--from", pair.source.address)
    said = pair.run("add", "x", *there, "--topics", "(", code=1)
    assert "The regular expression has a ( without its )" in said
    said = pair.run("add", "x", *there, "--command-config", "/none", code=1)
    assert "/none: No such file or directory" in said


def test_options_of_clients_are_named_by_their_whole_path(
    pair: Pair, there: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "client.properties").write_text("security.protocol=PLAINTEXT\n")
    monkeypatch.chdir(tmp_path)
    create_topic(there, "named", 1)
    source = ("--from", pair.source.address, "--topics", "named")
    config = ("--command-config", "client.properties")
    (added,) = pair.items("add", "named", *source, *config)
    assert (added["mirror"], added["topics"]) == ("named", "named")
    wait_until(lambda: pair.lag("named") == 0)
    assert "there is a mirror named already" in pair.run(
        "add", "named", *source, code=1
    )
    pair.run("promote", "named")
    pair.run("remove", "named")


def test_the_source_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["mirror", "add", "x"])
    assert "--from" in capsys.readouterr().err
