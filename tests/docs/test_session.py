"""A page that is wrong does not pass."""

from pathlib import Path

import pytest

from tests.docs.pages import blocks_of, commands, complaint
from tests.docs.session import Session


def ran(folder: Path, text: str) -> str:
    return Session(folder).run(list(blocks_of("page", text)))


def test_blocks_are_one_shell_beside_a_broker(tmp_path: Path) -> None:
    page = """
```
$ odradek topic create made --partitions 3
made: created
$ word=there
```

Now in Python:

```python
from kafka import KafkaAdminClient

print(KafkaAdminClient(bootstrap_servers="localhost:9092").list_topics())
```

<!-- before: echo "before: $word" -->
<!-- file: some/file.toml -->
```toml
address = "localhost:9092"
```

```sh
cat some/file.toml
```
"""
    session = Session(tmp_path)
    printed = session.run(list(blocks_of("page", page)))
    assert "['made']" in printed
    assert "before: there" in printed
    assert f'address = "localhost:{session.ports["9092"]}"' in printed


def test_the_broker_of_the_page_is_the_one_that_it_starts(tmp_path: Path) -> None:
    page = """
```
$ odradek serve --port 9092 --data-dir mine
odradek ready
$ odradek health --port 9092
```
"""
    assert "is ready" in ran(tmp_path, page)
    assert (tmp_path / "mine" / "catalog.db").exists()


@pytest.mark.parametrize(
    "block",
    [
        "```sh\ntrue\nfalse\ntrue\n```",
        "```\n$ cat nothing | wc -l\n```",
        "```python\nassert False\n```",
        "```\n$ odradek topic describe nothing\n```",
    ],
)
def test_what_fails_is_told_with_its_place(tmp_path: Path, block: str) -> None:
    page = f"```sh\ntrue\n```\n\n{block}\n\n```sh\ntouch after\n```\n"
    with pytest.raises(AssertionError, match=r"page:5: exit status 1"):
        ran(tmp_path, page)
    assert not (tmp_path / "after").exists()


def test_what_cannot_run_is_left_out(tmp_path: Path) -> None:
    page = "<!-- not run: needs docker -->\n```sh\ntouch left\n```\n"
    (block,) = blocks_of("page", page)
    assert not block.runs
    assert block.comments == {"not run": "needs docker"}
    ran(tmp_path, page)
    assert not (tmp_path / "left").exists()


def test_a_comment_is_for_the_block_below_it_alone() -> None:
    page = "<!-- not run: why -->\nWords.\n\n```sh\ntrue\n```\n"
    assert [block.runs for block in blocks_of("page", page)] == [True]


def test_what_a_block_is_has_to_be_said() -> None:
    written = "```\nplain\n```\n```toml\n= 1\n```\n```json\n{\n```\n```\n$ cat '\n```\n"
    said = [complaint(block) or "" for block in blocks_of("page", written)]
    assert [bool(each) for each in said] == [True] * 4
    assert "missing" in said[0]
    assert "does not end" in said[3]


def test_a_block_without_an_end_is_no_page() -> None:
    with pytest.raises(ValueError, match="page:1: the block does not end"):
        list(blocks_of("page", "```sh\ntrue\n"))


def test_commands_are_told_from_answers() -> None:
    text = """\
$ odradek topic list     # what's there
TOPIC
$ python -c '
print(1)'
1
$ cat > f <<'END'
$ not a command
END
$ a \\
    b
"""
    assert commands(text) == [
        "odradek topic list     # what's there",
        "python -c '\nprint(1)'",
        "cat > f <<'END'\n$ not a command\nEND",
        "a \\\n    b",
    ]
