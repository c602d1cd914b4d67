from dataclasses import replace
from pathlib import Path

import pytest

from odradek.broker.adoption.check import check_adopted, with_known_node_id
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.runtime.start_error import StartError
from odradek.storage.files.files import OsFiles
from odradek.storage.files.meta_properties import MetaProperties, write_meta_properties

FILES = OsFiles()


def config(*directories: Path, **options: object) -> BrokerConfig:
    return replace(BrokerConfig(log_dirs=directories), **options)


def written_by_kafka(directory: Path, node_id: int = 7) -> Path:
    directory.mkdir(exist_ok=True)
    write_meta_properties(FILES, directory, MetaProperties("c", node_id))
    return directory


def test_what_is_new_or_has_a_catalogue_is_served(tmp_path: Path) -> None:
    check_adopted(config(tmp_path / "new"), FILES)
    check_adopted(config(tmp_path), FILES)
    written_by_kafka(tmp_path)
    for name in ("catalog.db", "catalog.backup"):
        (tmp_path / name).write_text("")
        check_adopted(config(tmp_path), FILES)
        (tmp_path / name).unlink()


def test_what_kafka_wrote_is_refused_with_the_hint(tmp_path: Path) -> None:
    new, old = tmp_path / "new", written_by_kafka(tmp_path / "old")
    with pytest.raises(StartError) as refused:
        check_adopted(config(new, old), FILES)
    assert str(refused.value) == (
        f"{old} has data and no catalogue: if Apache Kafka wrote it, run"
        f" 'odradek adopt {new} {old}' first"
    )
    with pytest.raises(StartError, match=f"adopt {old} --catalog-dir {new}'"):
        check_adopted(config(old, metadata_log_dir=new), FILES)
    assert not new.exists()


def test_the_node_id_is_that_of_the_directory(tmp_path: Path) -> None:
    new, old = tmp_path / "new", written_by_kafka(tmp_path / "old")
    assert with_known_node_id(config(new), FILES).node_id == 1
    assert with_known_node_id(config(new, old), FILES).node_id == 7


def test_a_node_id_that_was_set_stays(tmp_path: Path) -> None:
    old = written_by_kafka(tmp_path)
    chosen = config(old, explicit=frozenset({"node.id"}))
    assert with_known_node_id(chosen, FILES).node_id == 1
    assert with_known_node_id(config(old, node_id=5), FILES).node_id == 5


def test_what_cannot_be_read_is_left_to_the_opening(tmp_path: Path) -> None:
    (tmp_path / "meta.properties").write_text("version=9\n")
    (tmp_path / "file").write_text("")
    broken = config(tmp_path, tmp_path / "file")
    assert with_known_node_id(broken, FILES) is broken
