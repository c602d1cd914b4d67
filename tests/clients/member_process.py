"""A member in a process of its own, to be killed or frozen: client, address, group,
topic, session timeout in ms. Prints what it has been given, whenever that changes."""

import sys

from tests.clients.consumers import CONSUMERS, Rebalances, Settings


def main() -> None:
    client, address, group, topic, session_ms = sys.argv[1:]
    settings = Settings(group, (topic,), session_ms=int(session_ms))
    consumer = CONSUMERS[client](address, settings, Rebalances())
    known = None
    while True:
        consumer.poll(0.05)
        assignment = sorted(place.partition for place in consumer.assignment())
        if assignment != known:
            known = assignment
            print(assignment, flush=True)


if __name__ == "__main__":
    main()
