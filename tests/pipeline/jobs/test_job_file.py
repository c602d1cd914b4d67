"""Job files: what is read, and what is said about every wrong key."""

from pathlib import Path
from typing import Any

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.jobs.job_file import duration_ms, read_job, read_job_file
from odradek.pipeline.jobs.job_keys import KEYS
from odradek.pipeline.values.decoding import ValueFormat

ROOT = Path(__file__).parents[3]
SMALLEST = 'name = "j"\n[source]\ntopics = ["t"]\n[table]\npath = "rows"\n'


def job_file(folder: Path, text: str) -> Path:
    path = folder / "job.toml"
    path.write_text(text)
    return path


def test_smallest_job_and_its_defaults(tmp_path: Path) -> None:
    job = read_job_file(job_file(tmp_path, SMALLEST))
    assert job.table_path == str(tmp_path / "rows")
    assert job.checkpoint == str(tmp_path / "rows-checkpoint")
    assert job.dead_letters == str(tmp_path / "rows-dead-letters")
    assert job.table_format == "parquet"
    assert job.trigger_ms == 1000
    assert job.group == "sink-j"
    assert not job.value.has_prefix


def test_what_an_editor_on_windows_writes(tmp_path: Path) -> None:
    path = job_file(tmp_path, SMALLEST)
    usual = read_job_file(path)
    path.write_text(SMALLEST.replace("\n", "\r\n"), encoding="utf-8-sig")
    assert read_job_file(path) == usual


def test_what_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "job.toml"
    path.write_text(SMALLEST, encoding="utf-16")
    with pytest.raises(JobError, match="it is not text in UTF-8"):
        read_job_file(path)


def test_all_sections(tmp_path: Path) -> None:
    text = """
name = "all"
checkpoint = "/chk"
trigger = "500ms"
[source]
bootstrap_servers = "a:1,b:2"
topic_pattern = "orders.*"
starting_offsets = { orders = { "0" = 5 } }
isolation_level = "read_committed"
options = { minPartitions = 4, "kafka.client.id" = "x" }
[value]
format = "avro"
registry = "http://r:8081"
subject = "orders-value"
[table]
path = "/lake/orders"
format = "iceberg"
columns = ["offset", "headers"]
catalog = { type = "rest", uri = "http://c" }
[dead_letters]
enabled = false
[spark]
master = "spark://h:7077"
conf = { "spark.ui.enabled" = true }
"""
    job = read_job_file(job_file(tmp_path, text))
    assert job.source.is_committed
    assert job.source.options == {"minPartitions": "4", "kafka.client.id": "x"}
    assert job.source.starting_offsets == {"orders": {"0": 5}}
    assert job.value.has_prefix
    assert job.value.columns == ("offset", "headers")
    assert job.dead_letters is None
    assert job.conf == {"spark.ui.enabled": "true"}
    assert job.catalog == {"type": "rest", "uri": "http://c"}
    assert (job.trigger_ms, job.checkpoint) == (500, "/chk")


@pytest.mark.parametrize("section", list(KEYS))
def test_every_key_with_a_typo_is_answered_with_the_key(
    section: str, tmp_path: Path
) -> None:
    for name in KEYS[section]:
        wrong = name[:-1] + "x" + name[-1]
        line = f"{wrong} = 1\n"
        if not section:
            text = line + SMALLEST
        elif f"[{section}]\n" in SMALLEST:
            text = SMALLEST.replace(f"[{section}]\n", f"[{section}]\n{line}")
        else:
            text = f"{SMALLEST}[{section}]\n{line}"
        with pytest.raises(JobError, match=f"has no key {wrong}") as raised:
            read_job_file(job_file(tmp_path, text))
        assert f"Did you mean {name}?" in str(raised.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("[source]", "[sorce]", "Did you mean source?"),
        ('name = "j"', "", "name is missing"),
        ('path = "rows"', "", r"\[table\] path is missing"),
        ('name = "j"', 'name = "a b"', "letters, digits"),
        ('name = "j"', 'name = "j"\ntrigger = "soon"', "not a time"),
        ('topics = ["t"]', "", "needs topics"),
        ('topics = ["t"]', 'topics = "t"', "must be a list"),
        ('topics = ["t"]', 'topics = ["t"]\ntopic_pattern = "x"', "not both"),
        ('topics = ["t"]', "topics = [1]", "list of names"),
        (
            'topics = ["t"]',
            'topics = ["t"]\nmax_offsets_per_trigger = true',
            "must be a number",
        ),
        (
            'topics = ["t"]',
            'topics = ["t"]\nsmall_batch_records = -1',
            "must not be negative",
        ),
        (
            'topics = ["t"]',
            'topics = ["t"]\nisolation_level = "read_comitted"',
            "Did you mean read_committed?",
        ),
        (
            'topics = ["t"]',
            'topics = ["t"]\nformat = "kafka"\npath = "data"',
            'by format = "odradek" only',
        ),
        ('path = "rows"', 'path = "rows"\nformat = "parket"', "mean parquet"),
        ('path = "rows"', 'path = "rows"\ncolumns = ["ofset"]', "mean offset"),
        ('path = "rows"', 'path = "rows"\ntopics = ["t"]', r"belongs to \[source\]"),
        ('path = "rows"', 'path = "rows"\nname = "x"', "the top of the file"),
        ("[table]", "[dead_letters]\ndlq_max_ratio = 2\n[table]", "from 0 to 1"),
        ("[table]", '[dead_letters]\npath = "rows"\n[table]', "among the rows of"),
        ('path = "rows"', 'path = "rows"\npartition_by = "a"', "must be a list"),
        (
            'path = "rows"',
            'path = "rows"\npartition_by = ["day(timestamp)"]',
            "Did you mean days?",
        ),
        ('path = "rows"', 'path = "rows"\nrenamed = { a = "b" }', "evolve = true"),
        (
            'path = "rows"',
            'path = "rows"\nevolve = true\nrenamed = { a = "b" }',
            "a Parquet table knows its columns by their names",
        ),
        *(
            (
                'path = "rows"',
                'path = "rows"\nformat = "iceberg"\nevolve = true\nrenamed = ' + names,
                said,
            )
            for names, said in (
                ("{ a = 3 }", 'write a = "new"'),
                ('{ a = "a" }', 'write a = "new"'),
                ('{ _offset = "a" }', "keep their names"),
                ('{ a = "c", b = "c" }', "two columns the same name"),
            )
        ),
        (
            'path = "rows"',
            'path = "rows"\ncompact_every = "often"',
            "compact_every: 'o",
        ),
        (
            'path = "rows"',
            'path = "rows"\nkeep_removed = "1w"',
            "keep_removed: '1w' is",
        ),
        (
            'path = "rows"',
            'path = "rows"\nmode = "upsert"',
            'is for format = "delta" and "iceberg"',
        ),
        (
            'path = "rows"',
            'path = "rows"\nformat = "delta"\nmode = "upsert"\ncolumns = ["key"]',
            "needs partition, offset, timestamp, which say",
        ),
        (
            "[table]",
            '[spark]\nmaster = "sc://a:15002"\n[table]',
            "commits in the process that runs it",
        ),
        (
            "[table]",
            '[value]\nformat = "json"\nschema = "infer"\n[table]',
            "needs schema_file",
        ),
        (
            "[table]",
            '[value]\nformat = "json"\nschema = "a INT"\nschema_file = "x"\n[table]',
            "leave one of them out",
        ),
        ("[table]", "[table", "line 4"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(JobError, match=said) as raised:
        read_job_file(job_file(tmp_path, SMALLEST.replace(old, new)))
    assert str(tmp_path) in str(raised.value)


def test_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(JobError, match="No such file"):
        read_job_file(tmp_path / "none.toml")


def test_durations() -> None:
    assert duration_ms("x", "1.5s") == 1500
    assert duration_ms("x", "2 m") == 120_000


def test_page_lists_every_key() -> None:
    page = (ROOT / "docs" / "pipeline" / "sink.md").read_text()
    missing = [
        name for keys in KEYS.values() for name in keys if f"`{name}`" not in page
    ]
    assert not missing


def test_the_registry_asks_for_a_reference(tmp_path: Path) -> None:
    def value_of(**keys: str) -> ValueFormat:
        content = {
            "name": "x",
            "source": {"topics": ["t"]},
            "table": {"path": "t"},
            "value": keys,
        }
        return read_job(content, tmp_path).value

    with pytest.raises(JobError, match=r"registry_user: a secret does not") as caught:
        value_of(registry_user="alice:open sesame")
    assert "sesame" not in str(caught.value)
    assert value_of(registry_user="${env:WHO}").registry_user == "${env:WHO}"
    found = value_of(registry_config="registry.properties")
    assert found.registry_config == str(tmp_path / "registry.properties")
    content: dict[str, Any] = {"name": "x", "value": {"registry_user": ["sesame"]}}
    content |= {"source": {"topics": ["t"]}, "table": {"path": "t"}}
    with pytest.raises(JobError, match="must be a text") as caught:
        read_job(content, tmp_path)
    assert "sesame" not in str(caught.value)
