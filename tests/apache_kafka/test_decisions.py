"""S019: what lists of entries decide is what Apache Kafka's authorizer decides."""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from odradek.broker.metadata.access.access import Access, Rules
from odradek.broker.metadata.access.acl_index import AclIndex
from odradek.protocol.acl_entries import AclEntry, PatternType
from odradek.protocol.acls import Operation, ResourceType
from tests.apache_kafka.java_client import JavaClient
from tests.plain import access as plain

IS_LONG = os.environ.get("ODRADEK_LONG") == "1"
LISTS = 200 if IS_LONG else 40
QUESTIONS = 2_000 if IS_LONG else 250
ANY_EACH = 20  # of the questions, one about any resource of a type

ROOT = "User:root"
NAMES = ("*", "a", "ab", "abc", "b", "orders", "orders-1", "ord", "ä", "A", "hardcode")
PRINCIPALS = ("User:alice", "User:bob", "User:", "User:*", "Group:alice", ROOT)
ASKING = ("User:alice", "User:bob", "User:", "Group:alice", ROOT)
HOSTS = ("*", "10.0.0.1", "10.0.0.2", "10.0.0.0/8")
FROM = ("10.0.0.1", "10.0.0.2", "127.0.0.1")
OPERATIONS = tuple(Operation)[2:]
KINDS = tuple(ResourceType)[2:]


class Question(NamedTuple):
    """May ``who``, a principal and a host, do it? Without a name: to any."""

    who: tuple[str, str]
    operation: Operation
    kind: ResourceType
    name: str | None

    @property
    def line(self) -> str:
        words = [*self.who, str(int(self.operation)), str(int(self.kind))]
        return "\t".join(
            ("any", *words) if self.name is None else ("may", *words, self.name)
        )


class List(NamedTuple):
    """Entries, and what is asked of them."""

    allows_untouched: bool
    entries: list[AclEntry]
    questions: list[Question]

    @property
    def lines(self) -> Iterator[str]:
        yield f"list\t{str(self.allows_untouched).lower()}\t{ROOT}"
        for entry in self.entries:
            yield "\t".join(("entry", *(str(each) for each in entry)))
        yield from (question.line for question in self.questions)


def drawn(seed: int) -> List:
    """Few or many entries; few kinds, so that they meet."""
    draw = random.Random(seed)
    kinds = draw.sample(KINDS, draw.choice((1, 2, len(KINDS))))
    entries = {  # each is there once
        AclEntry(
            int(draw.choice(kinds)),
            draw.choice(NAMES),
            int(draw.choice((PatternType.LITERAL, PatternType.PREFIXED))),
            draw.choice(PRINCIPALS),
            draw.choices(HOSTS, (5, 2, 1, 1))[0],
            int(draw.choice(OPERATIONS)),
            draw.choices((2, 3), (1, 3))[0],
        )
        for _ in range(draw.choice((0, 3, 10, 30, 100)))
    }
    questions = [
        Question(
            (draw.choice(ASKING), draw.choice(FROM)),
            draw.choice(OPERATIONS),
            draw.choice(kinds),
            draw.choice(NAMES) if number % ANY_EACH else None,
        )
        for number in range(QUESTIONS)
    ]
    return List(draw.random() < 0.3, sorted(entries), questions)


def ours(one: List) -> str:
    """As the broker decides: each `Access` remembers what it has decided."""
    rules = Rules(AclIndex(one.entries), frozenset({ROOT}), one.allows_untouched)
    accesses: dict[tuple[str, str], Access] = {}
    answers = []
    for who, operation, kind, name in one.questions:
        access = accesses.get(who) or accesses.setdefault(who, Access(rules, *who))
        answers.append(
            access.may_any(operation, kind)
            if name is None
            else access.may(operation, kind, name)
        )
    return "".join("01"[answer] for answer in answers)


def by_rules(one: List) -> str:
    """Entry by entry; of super users alone there is nothing to look up."""
    answers = []
    for who, operation, kind, name in one.questions:
        if who[0] == ROOT:
            answers.append(True)
        elif name is None:
            # As Kafka asks it: the name that it tries first may have entries.
            answers.append(
                plain.may(
                    one.entries,
                    who,
                    operation,
                    kind,
                    "hardcode",
                    allows_untouched=one.allows_untouched,
                )
                or plain.may_any(one.entries, who, operation, kind)
            )
        else:
            answers.append(
                plain.may(
                    one.entries,
                    who,
                    operation,
                    kind,
                    name,
                    allows_untouched=one.allows_untouched,
                )
            )
    return "".join("01"[answer] for answer in answers)


def test_both_authorizers_decide_the_same(java: JavaClient, tmp_path: Path) -> None:
    """S019"""
    lists = [drawn(seed) for seed in range(LISTS)]
    asked = tmp_path / "asked"
    asked.write_text("".join(f"{line}\n" for one in lists for line in one.lines))
    decided = java.tool("Decisions", str(asked)).splitlines()
    assert len(decided) == LISTS
    for seed, (one, kafka) in enumerate(zip(lists, decided, strict=True)):
        mine = ours(one)
        differing = [
            question
            for question, wanted, got in zip(one.questions, kafka, mine, strict=True)
            if wanted != got
        ]
        assert not differing, (seed, one.allows_untouched, one.entries, differing[:3])
        assert by_rules(one) == kafka, seed
    assert 0.1 < "".join(decided).count("1") / (LISTS * QUESTIONS) < 0.9
