"""The files of options in examples/spark have names that Spark knows."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from odradek.protocol.properties import parse_properties

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = Path(__file__).parents[2] / "examples" / "spark"
# Spark registers options when these are loaded.
DECLARED = ("deploy.k8s.Config$", "deploy.yarn.config.package$")
# Their names go on as users like.
PREFIXES = ("spark.kubernetes.executor.volumes.", "spark.kubernetes.executor.secrets.")
# Read by name in Spark's own scripts and schedulers.
UNDECLARED = ("spark.master",)


@pytest.fixture
def known(spark: "SparkSession") -> Any:
    """Whether Spark has declared an option."""
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    for name in DECLARED:
        getattr(jvm, "java.lang.Class").forName(f"org.apache.spark.{name}")
    entries = getattr(jvm, "org.apache.spark.internal.config.ConfigEntry")
    return lambda name: entries.findEntry(name) is not None


@pytest.mark.parametrize("name", sorted(path.name for path in FOLDER.iterdir()))
def test_options_are_known(known: Any, name: str) -> None:
    found = parse_properties((FOLDER / name).read_text())
    names = [each.name for each in found]
    assert len(names) > 5
    assert len(set(names)) == len(names)
    unknown = [
        each
        for each in names
        if not (known(each) or each.startswith(PREFIXES) or each in UNDECLARED)
    ]
    assert unknown == []


def test_a_name_that_is_wrong_would_be_found(known: Any) -> None:
    assert known("spark.kubernetes.container.image")
    assert not known("spark.kubernetes.container.imag")
    assert not known("spark.yarn.dist.archive")
