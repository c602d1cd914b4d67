import json
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.security.certificates.principal_mapping import PrincipalMapping

# What Apache Kafka's own mapper says of each name by each rules: "=" and the
# principal, "-" where none fits, "!" and the error where the rules are none.
GOLDEN = json.loads(
    (Path(__file__).parents[3] / "golden" / "principal_mappings.json").read_text()
)
NAMES = GOLDEN["names"]
# Java knows it, Python does not: refused at the start, which is the safe side.
NOT_IN_PYTHON = {r"RULE:CN=\p{Alpha}.*/$0/"}
# The dot of both differs for what only line ends in a name show.
LINE_ENDS = "\r"


@pytest.mark.parametrize("entry", GOLDEN["rules"], ids=lambda entry: entry["rules"])
def test_a_name_becomes_who_apache_kafka_makes_of_it(entry: dict[str, Any]) -> None:
    """S007"""
    expected = entry["principals"]
    if entry["rules"] in NOT_IN_PYTHON or expected[0].startswith("!"):
        with pytest.raises(ValueError):  # noqa: PT011 - each rule has its own reason
            PrincipalMapping.parse(entry["rules"])
        return
    mapping = PrincipalMapping.parse(entry["rules"])
    for name, wanted in zip(NAMES, expected, strict=True):
        found = mapping.principal_of(name)
        told = "-" if found is None else "=" + found
        if LINE_ENDS not in name:
            assert told == wanted, name


def test_a_name_with_line_ends_fits_no_pattern() -> None:
    assert PrincipalMapping.parse("RULE:CN=.*/x/").principal_of("CN=a\rb") is None
    assert PrincipalMapping.parse("DEFAULT").principal_of("CN=a\rb") == "CN=a\rb"


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ("RULE:x/y", "is not like RULE:pattern/replacement/ or DEFAULT"),
        ("RULE:(x/y/", "is no pattern"),
        ("RULE:CN=.*/$$1/", r"has to be written \\\$"),
        ("RULE:CN=.*/${who}/", "has no group 'who'"),
    ],
)
def test_what_is_no_rule_is_refused(rules: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        PrincipalMapping.parse(rules)
