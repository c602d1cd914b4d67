from prometheus_client.parser import text_string_to_metric_families

from odradek.broker.operate.metrics.exposition import (
    HISTOGRAM,
    Family,
    counter,
    exposition,
    gauge,
    labels,
)
from odradek.broker.runtime.histogram import Histogram


def read(*families: Family) -> dict[str, dict[tuple[str, ...], float]]:
    text = "".join(map(exposition, families))
    return {
        sample.name: {
            tuple(s.labels.values()): s.value
            for s in family.samples
            if s.name == sample.name
        }
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_a_parser_reads_what_was_written() -> None:
    requests, size = counter("requests_total", "Requests."), gauge("size", "Bytes.")
    requests.add(3, labels(api="Fetch", version=4))
    requests.add(1 << 60, labels(api="Produce", version=13))
    size.add(1.5)
    assert read(requests, size) == {
        "requests_total": {("Fetch", "4"): 3, ("Produce", "13"): 1 << 60},
        "size": {(): 1.5},
    }


def test_what_clients_chose_stays_inside_its_label() -> None:
    name = 'a"b\\c\nd'
    members = gauge("members", "Of a group.")
    members.add(1, labels(group=name))
    assert read(members) == {"members": {(name,): 1}}


def test_a_histogram_is_cumulative_and_has_its_sum() -> None:
    family, histogram = Family("seconds", HISTOGRAM, "Long."), Histogram([0.5, 1])
    for value in (0.1, 0.7, 3):
        histogram.observe(value)
    family.add_histogram(histogram, directory="d")
    assert read(family) == {
        "seconds_bucket": {("d", "0.5"): 1, ("d", "1"): 2, ("d", "+Inf"): 3},
        "seconds_sum": {("d",): 3.8},
        "seconds_count": {("d",): 3},
    }


def test_a_family_without_samples_is_left_out() -> None:
    assert exposition(gauge("nothing", "No samples.")) == ""
