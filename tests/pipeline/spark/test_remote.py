import socket

import pytest

from odradek.pipeline.job_errors import JobError
from odradek.pipeline.spark import remote
from odradek.pipeline.spark.remote import connected, is_remote
from odradek.pipeline.spark.session import spark_session


def test_servers_of_spark_connect() -> None:
    assert is_remote("sc://spark.example.com:15002")
    assert not is_remote("spark://a:7077")


def test_nobody_is_waited_for() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    url = f"sc://127.0.0.1:{port}/;use_ssl=false"
    with pytest.raises(
        JobError, match=r"There is no Spark Connect at .*: Connection re"
    ):
        spark_session("test", url)
    with pytest.raises(JobError, match=r"write it like sc://host:15002"):
        spark_session("test", "sc://")
    with pytest.raises(JobError, match=r"no Spark Connect at sc://127.0.0.1:x"):
        spark_session("test", "sc://127.0.0.1:x")


def test_what_pyspark_lacks_is_said_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from pyspark.errors import PySparkImportError
    from pyspark.sql import SparkSession

    class Lacking:
        def remote(self, url: str) -> None:
            raise PySparkImportError(
                "[PACKAGE_NOT_INSTALLED] grpcio >= 1.48.1 must be installed; however"
            )

    monkeypatch.setattr(SparkSession, "builder", Lacking())
    monkeypatch.setattr(remote, "_check_there", lambda _: None)
    with pytest.raises(JobError) as said:
        connected("test", "sc://a", {})
    text = str(said.value)
    assert "grpcio >= 1.48.1 must be installed: " in text
    assert "[connect]" in text.partition("pip install")[2]
