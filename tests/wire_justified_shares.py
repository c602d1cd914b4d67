"""Where our answers about share groups are not Apache Kafka's on purpose, and why."""

from typing import Final

from odradek.protocol.errors import ErrorCode
from tests.wire_reasons import Justified, behind, is_only_kafkas, says

# Joins that Apache Kafka answers before it knows of the partitions' states.
FIRST_JOINS: Final = {
    "ng-share-admin": (10, 29),
    "ng-share-basic": (8,),
    "ng-share-errors": (16,),
    "ng-share-locks": (8,),
    "ng-share-modes": (8,),
    "share-groups": (2,),
}

OF_SHARE_GROUPS: Final = (
    Justified(
        "we say what is wrong where Apache Kafka gives only the code",
        {"ng-share-errors": (55,)},
        "*.acknowledge_error_message",
        lambda difference: difference.kafka is None,
    ),
    Justified(
        "Apache Kafka holds the options of a group in no order",
        {
            "ng-share-admin": (7,),
            "ng-share-basic": (5,),
            "ng-share-errors": (5,),
            "ng-share-locks": (5,),
            "ng-share-modes": (5,),
        },
        ".results.0.configs.order",
        lambda difference: sorted(difference.kafka) == sorted(difference.ours),
    ),
    Justified(
        "a member is assigned partitions in the first answer, one epoch later",
        FIRST_JOINS,
        ".member_epoch",
        behind(-1),
    ),
    Justified(
        "a member is assigned partitions in the first answer, one epoch later",
        {group: steps[:1] for group, steps in FIRST_JOINS.items()},
        ".assignment.topic_partitions.length",
        says(0, 1),
    ),
    Justified(
        "so it is described",
        {"share-groups": (3,)},
        ".groups.0.*epoch",
        behind(-1),
    ),
    Justified(
        "so it is described",
        {"share-groups": (3,)},
        ".groups.0.members.*.assignment.topic_partitions.length",
        says(0, 1),
    ),
    Justified(
        "what is written of a share group is what came of it, not what was before",
        {"ng-share-admin": (19,), "ng-share-basic": (22,), "ng-share-locks": (23,)},
        ".groups.0.topics.*.partitions.0.start_offset",
        lambda difference: difference.ours > difference.kafka,
    ),
    Justified(
        "a topic that is not there is an error of that partition",
        {"ng-share-errors": (33,)},
        "*",
        lambda difference: True,
    ),
    Justified(
        "a mode that there is not is the client's mistake",
        {"ng-share-errors": (58,)},
        ".error_code",
        says(-1, ErrorCode.INVALID_REQUEST),
    ),
    Justified(
        "offsets in a row are one range, also where a batch was begun before",
        {"ng-share-modes": (19,)},
        ".responses.0.partitions.0.acquired_records.*",
        lambda difference: True,
    ),
    Justified(
        "the groups of other conversations",
        {"ng-share-admin": (23,)},
        ".groups.*",
        is_only_kafkas,
    ),
    Justified(
        "a share partition that was moved is loaded again at once",
        {"ng-share-admin": (31,)},
        ".responses.0.partitions.0.acquired_records.0.*",
        lambda difference: difference[1:3] in ((2, 4), (2, 1)),
    ),
)
