"""A load process on librdkafka: one producer, or one consumer.

Started by ``work``: prints "ready", waits for a line, works, prints its figures as
JSON.
"""

import argparse
import json
import sys
import time
from typing import Any

from confluent_kafka import Consumer, Producer, TopicPartition

SILENCE_SECONDS_MAX = 20


def produce(args: argparse.Namespace, config: dict[str, Any]) -> dict[str, Any]:
    failures: list[str] = []
    stats: dict[str, Any] = {}
    producer = Producer(
        {
            **config,
            "delivery.report.only.error": True,
            "on_delivery": lambda error, _: failures.append(str(error)),
            "statistics.interval.ms": 100,
            "stats_cb": lambda text: stats.update(json.loads(text)),
        }
    )
    value = bytes(index * 31 % 251 for index in range(args.size))
    for partition in range(args.partitions):  # connects, and learns the leaders
        producer.produce(args.topic, value, partition=partition)
    producer.flush()
    sent_before = _requests_sent(producer, stats)
    began, cpu = _wait_for_go()
    for _ in range(args.count):
        while True:
            try:
                producer.produce(args.topic, value)
                break
            except BufferError:
                producer.poll(0.01)
    left = producer.flush(60)
    figures = {
        "seconds": time.monotonic() - began,
        "client_cpu_s": time.process_time() - cpu,
        "messages": args.count,
        "requests": _requests_sent(producer, stats) - sent_before,
    }
    if left or failures:
        raise SystemExit(f"{left + len(failures)} not delivered: {failures[:1]}")
    return figures


def _requests_sent(producer: Producer, stats: dict[str, Any]) -> int:
    stats.clear()
    while not stats:
        producer.poll(0.05)
    return sum(each["req"].get("Produce", 0) for each in stats["brokers"].values())


def consume(args: argparse.Namespace, config: dict[str, Any]) -> dict[str, Any]:
    names = {"group.id": "bench", "enable.auto.commit": False}  # of no interest here
    consumer = Consumer({**config, **names})
    began, cpu = _wait_for_go()
    consumer.assign([TopicPartition(args.topic, p, 0) for p in range(args.partitions)])
    count, last = 0, time.monotonic()
    while count < args.count and time.monotonic() - last < SILENCE_SECONDS_MAX:
        messages = consumer.consume(10_000, timeout=0.1)
        for message in messages:
            if message.error():
                raise SystemExit(str(message.error()))
        if messages:
            last = time.monotonic()
            count += len(messages)
    if count < args.count:
        raise SystemExit(f"{count} of {args.count} messages came")
    figures = {
        "seconds": last - began,
        "client_cpu_s": time.process_time() - cpu,
        "messages": count,
    }
    consumer.close()
    return figures


def _wait_for_go() -> tuple[float, float]:
    print("ready", flush=True)
    sys.stdin.readline()
    return time.monotonic(), time.process_time()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("work", choices=["produce", "consume"])
    parser.add_argument("--port", type=int)
    parser.add_argument("--topic")
    parser.add_argument("--partitions", type=int, default=1)
    parser.add_argument("--count", type=int)
    parser.add_argument("--size", type=int, default=0)
    parser.add_argument("--config", action="append", default=[], metavar="KEY=VALUE")
    args = parser.parse_args()
    config = {"bootstrap.servers": f"127.0.0.1:{args.port}", "log_level": 3}
    config |= dict(pair.split("=", 1) for pair in args.config)
    figures = {"produce": produce, "consume": consume}[args.work](args, config)
    print(json.dumps(figures), flush=True)


if __name__ == "__main__":
    main()
