import pytest

from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from odradek.client.producer import Producer
from odradek.client.topics import NewTopic, create_topic
from odradek.client.transactional_producer import TransactionalProducer
from odradek.protocol.records import NewRecord
from tests.broker.cli.conftest import Shell
from tests.client.live import settle


@pytest.fixture(scope="module")
def filled() -> set[str]:
    return set()


@pytest.fixture
def topic(cluster: Cluster, filled: set[str]) -> str:
    """Ten records in each of two partitions, a second apart."""
    if not filled:
        create_topic(cluster, NewTopic("consumed", 2))
        with Producer(cluster) as producer:
            for number in range(20):
                value, time_ms = b"%d" % number, 1000 * number
                record = NewRecord(b"k%d" % number, value, time_ms, [("h", value)])
                producer.send("consumed", record, number % 2)
        filled.add("consumed")
    return "consumed"


def test_all_there_is(shell: Shell, topic: str) -> None:
    found = shell.run("consume", topic, "-e")
    assert sorted(map(int, found)) == list(range(20))
    assert shell.run("consume", f"{topic}:1", "-e") == list(map(str, range(1, 20, 2)))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["-o", "7", "-e"], ["14", "16", "18"]),
        (["-o", "-2", "-e"], ["16", "18"]),
        (["-o", "end", "-e"], []),
        (["-o", "@15000", "-e"], ["16", "18"]),
        (["-o", "@1970-01-01T00:00:04Z", "--until", "@9000"], ["4", "6", "8"]),
        (["-o", "2", "--until", "4"], ["4", "6"]),
        (["-o", "8", "--until", "end"], ["16", "18"]),
        (["-c", "3"], ["0", "2", "4"]),
        (["-c", "0"], []),
        (["-c", "1", "-K", ": "], ["k0: 0"]),
        (["-c", "1", "-f", r"%t %p %o %k %T %h\n"], ["consumed 0 0 k0 0 h=0"]),
    ],
)
def test_ranges_and_formats(
    shell: Shell, topic: str, given: list[str], expected: list[str]
) -> None:
    assert shell.run("consume", f"{topic}:0", *given) == expected


def test_json(shell: Shell, topic: str) -> None:
    assert shell.run_json("consume", f"{topic}:1", "-o", "3", "-c", "1") == [
        {
            "topic": "consumed",
            "partition": 1,
            "offset": 3,
            "timestamp": 7000,
            "key": "k7",
            "value": "7",
            "headers": [["h", "7"]],
        }
    ]


def test_only_what_is_committed_unless_asked(cluster: Cluster, shell: Shell) -> None:
    create_topic(cluster, NewTopic("half", 1))
    with TransactionalProducer(cluster, "tx-half") as producer:
        for value in b"aborted", b"kept":
            producer.begin()
            producer.send("half", NewRecord(None, value, 0))
            if value == b"kept":
                producer.commit()
            else:
                producer._producer.flush()
                producer.abort()
    settle(cluster, "half")
    assert shell.run("consume", "half", "-e") == ["kept"]
    both = shell.run("consume", "half", "-e", "--uncommitted")
    assert both == ["aborted", "kept"]


def test_what_cannot_be_read(cluster: Cluster, shell: Shell, topic: str) -> None:
    shell.run("consume", "no-such-topic", "-e", code=1)
    assert "no-such-topic" in shell.error
    shell.run("consume", f"{topic}:9", "-e", code=1)
    assert "9" in shell.error


def test_offsets_that_are_not_there(cluster: Cluster, shell: Shell, topic: str) -> None:
    ends = ((), ("-e",), ("--until", "120"), ("-g", "far", "-e"), ("-g", "far"))
    for more in ends:
        assert shell.run("consume", topic, "-o", "99", *more, code=1) == []
        assert shell.error.startswith(
            f"odradek consume: {topic}: OFFSET_OUT_OF_RANGE: there is no offset 99:"
            f" {topic}-0 has 0 to "
        )
    (said,) = shell.run_json("consume", topic, "-o", "99", "-e", code=1)
    assert said["error"]["code"] == "OFFSET_OUT_OF_RANGE"
    assert said["error"]["what"] == topic


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (["-o", "5", "--until", "3"], "--until 3 is before --offset 5"),
        (["--json", "-f", "%s"], "--json has its own format"),
        (["-f", "%s", "-K:"], "put the key into the format"),
        (["-f", "%q"], "%q is not known"),
        (["-o", "x"], "is not an offset"),
        (["-c", "x"], "not a whole number"),
    ],
)
def test_mistakes(
    given: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["consume", "t", *given])
    assert ended.value.code == 2
    assert complaint in capsys.readouterr().err
