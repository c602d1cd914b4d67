from typing import TYPE_CHECKING, Any, cast

import pytest
from pyspark.errors import PySparkAttributeError

from odradek.pipeline.spark.driver_address import (
    DriverAddress,
    driver_address,
    parse_driver_address,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_forms() -> None:
    assert parse_driver_address("") == ("", 0)
    assert parse_driver_address(":7777") == ("", 7777)
    assert parse_driver_address("driver") == ("driver", 0)
    assert parse_driver_address("driver:7777") == ("driver", 7777)
    assert parse_driver_address("[::1]:7777") == ("::1", 7777)
    for wrong in ("driver:", "driver:x", "driver:65536", ":-1"):
        with pytest.raises(ValueError, match="write it like"):
            parse_driver_address(wrong)


class Classic:
    """A session with a context, whose options these are."""

    def __init__(self, **options: str) -> None:
        self.sparkContext = self
        self._options = {f"spark.driver.{name}": each for name, each in options.items()}

    def getConf(self) -> "Classic":
        return self

    def get(self, name: str) -> str | None:
        return self._options.get(name)


def address(session: object, text: str = "") -> DriverAddress:
    return driver_address(cast("SparkSession", session), text)


def test_what_spark_is_told_is_the_default() -> None:
    assert address(Classic()) == ("127.0.0.1", 0, "")
    spark = Classic(host="gateway", bindAddress="0.0.0.0")
    assert address(spark) == ("gateway", 0, "0.0.0.0")
    assert address(spark, "other:7").listening == ("0.0.0.0", 7)
    assert address(Classic(host="here"), ":7").listening == ("here", 7)


class Remote:
    """A session of Spark Connect."""

    def __init__(self, host: str) -> None:
        self.client = self
        self.host = host

    @property
    def sparkContext(self) -> Any:
        raise PySparkAttributeError("JVM_ATTRIBUTE_NOT_SUPPORTED")


def test_towards_a_server_of_spark_connect() -> None:
    assert address(Remote("127.0.0.1")) == ("127.0.0.1", 0, "")
    assert address(Remote("no-such-host.invalid"), ":7") == ("127.0.0.1", 7, "")
    assert address(Remote("127.0.0.1"), "there:7") == ("there", 7, "")
