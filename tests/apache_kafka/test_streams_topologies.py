"""Topologies are configured as Apache Kafka configures them, with its words."""

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from odradek.broker.coordinator.group.state.streams.topology import (
    CopartitionGroup,
    InternalTopic,
    Subtopology,
    Topology,
)
from odradek.broker.coordinator.group.streams.topology.configure import configure
from odradek.protocol.coordinator_errors import StreamsInvalidTopology
from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.test_assignors import GROUPS

TOPOLOGIES = 3 * GROUPS


class Case(NamedTuple):
    counts: Mapping[str, int]
    topology: Topology

    @property
    def lines(self) -> Iterable[str]:
        yield "group"
        for name, count in self.counts.items():
            yield f"topic\t{name}\t{count}"
        for each in self.topology.subtopologies:
            repartitions = ",".join(
                f"{topic.name}:{topic.partitions}" for topic in each.repartition_sources
            )
            groups = ";".join(
                f"{_comma(of.source_topics)}:{_comma(of.repartition_sources)}"
                for of in each.copartition_groups
            )
            words = (
                _comma(each.source_topics),
                _comma(each.repartition_sinks),
                repartitions,
                _comma(topic.name for topic in each.changelogs),
                groups,
            )
            yield "\t".join(("part", each.subtopology_id, *words))
        yield "configure"

    @property
    def ours(self) -> str:
        try:
            found = configure(self.topology, self.counts.get)
        except StreamsInvalidTopology as error:
            return f"invalid\t{error}"
        status, detail = "-", ""
        if found.problem:
            status, detail = str(int(found.problem.status)), found.problem.detail
        parts = "none"
        if found.subtopologies is not None:
            parts = ";".join(
                f"{key}={each.task_count}="
                f"{_counts((*each.repartition_sources, *each.changelogs))}"
                for key, each in sorted(found.subtopologies.items())
            )
        return "\t".join((status, detail, parts, _counts(found.missing)))


def _comma(words: Iterable[object]) -> str:
    return ",".join(map(str, words))


def _counts(topics: Iterable[InternalTopic]) -> str:
    return _comma(f"{each.name}:{each.partitions}" for each in sorted(topics))


def random_cases(source: random.Random) -> Iterable[Case]:
    for _ in range(TOPOLOGIES):
        topology = random_topology(source)
        usual = source.randint(1, 6)
        counts = {f"in{number}": usual for number in range(5)}
        if source.random() < 0.4:
            counts[source.choice(list(counts))] = source.randint(1, 6)
        if source.random() < 0.15:
            del counts[source.choice(list(counts))]
        yield Case(counts, topology)
        # Some of the internal topics are there, as they shall be, or otherwise.
        try:
            found = configure(topology, counts.get)
        except StreamsInvalidTopology:
            continue
        if found.missing:
            some = source.sample(found.missing, source.randint(1, len(found.missing)))
            made = {each.name: each.partitions for each in some}
            if source.random() < 0.3:
                made[some[0].name] += 1
            yield Case({**counts, **made}, topology)


def random_topology(source: random.Random) -> Topology:
    """Parts that read and write each other's topics, some of them senseless."""
    part_count = source.randint(1, 5)
    repartitions = [f"re{number}" for number in range(source.randint(0, 4))]
    has_fixed = source.random() < 0.5
    fixed = {
        name: source.choice((2, 4, 4)) if has_fixed and source.random() < 0.4 else 0
        for name in repartitions
    }
    reads: dict[int, set[str]] = {number: set() for number in range(part_count)}
    writes: dict[int, set[str]] = {number: set() for number in range(part_count)}
    for name in repartitions:
        if source.random() < 0.95:
            writes[source.randrange(part_count)].add(name)
        reads[source.randrange(part_count)].add(name)
    parts = []
    for number in range(part_count):
        inputs = source.sample(range(5), source.choice((0, 1, 1, 2, 2, 3)))
        if not inputs and not reads[number] and source.random() < 0.9:
            inputs = [0]
        sources = tuple(f"in{each}" for each in inputs)
        internal = tuple(InternalTopic(name, fixed[name]) for name in reads[number])
        changelogs = tuple(
            InternalTopic(f"log{number}{each}") for each in range(source.randint(0, 2))
        )
        groups = []
        if len(sources) + len(internal) > 1 and source.random() < 0.6:
            groups.append(
                CopartitionGroup(
                    tuple(source.sample(range(len(sources)), len(sources))),
                    repartition_sources=tuple(range(len(internal))),
                )
            )
        part = Subtopology(
            str(number),
            sources,
            (),
            internal,
            tuple(sorted(writes[number])),
            changelogs,
            tuple(groups),
        )
        parts.append(part)
    return Topology(1, tuple(parts))


def test_counts_statuses_and_words(tmp_path: Path, java: JavaClient) -> None:
    cases = list(random_cases(random.Random(5)))
    path = tmp_path / "topologies"
    path.write_text("\n".join(line for case in cases for line in case.lines))
    answers = java.tool("StreamsGroups", str(path)).splitlines()
    assert len(answers) == len(cases)
    found = set()
    for case, theirs in zip(cases, answers, strict=True):
        ours = case.ours
        found.add(ours.partition("\t")[0])
        assert comparable(ours) == comparable(theirs), "\n".join(case.lines)
    assert found == {"-", "1", "2", "3", "invalid"}


def comparable(answer: str) -> list[str]:
    """Without names that Kafka gives in the order of hashes, or some of them."""
    status, detail, *rest = answer.split("\t")
    if detail.startswith("Internal topics are missing"):
        detail, _, names = detail.partition(": ")
        listed, _, more = names.partition(" and ")
        detail += more if more else str(sorted(listed.split(", ")))
    elif detail.startswith(("Existing topic", "Number of partitions")):
        detail = "".join(word for word in detail.split() if not word.isdigit())[:10]
    return [status, detail, *rest]
