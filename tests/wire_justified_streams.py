"""Where our answers about streams groups are not Apache Kafka's on purpose, and why."""

from typing import Final

from tests.wire_reasons import Justified

OF_STREAMS_GROUPS: Final = (
    Justified(
        "Apache Kafka holds the options of a group, and of a topic, in no order",
        {"ng-streams-basic": (3, 13)},
        ".results.0.configs.order",
        lambda difference: sorted(difference.kafka) == sorted(difference.ours),
    ),
    Justified(
        "Apache Kafka tells of members in no order, here they are in that of joining",
        {"ng-streams-basic": (20, 25)},
        ".groups.0.members.*",
        lambda difference: True,
    ),
)
