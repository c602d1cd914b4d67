"""A difference that is meant, and how its values are looked at."""

from collections.abc import Callable, Collection, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from odradek.protocol.record_batch import scan
from tests.wire_compare import Difference

Check = Callable[[Difference], bool]

ANY_STEP: Final[tuple[int, ...]] = ()
BASE_OFFSET_SIZE: Final = 8


class Justified(NamedTuple):
    """Differences that are meant.

    ``steps`` are those of each group, ``path`` is a pattern of the fields, and
    ``check`` looks at the values: no other difference of these fields is meant.
    """

    why: str
    steps: Mapping[str, Collection[int]]
    path: str
    check: Check

    def explains(self, group: str, step: int, difference: Difference) -> bool:
        """Whether this is why there is such a difference."""
        steps = self.steps.get(group)
        if steps is None or (steps and step not in steps):
            return False
        return fnmatchcase(difference.path, self.path) and self.check(difference)


def says(kafka: Any, ours: Any) -> Check:
    """Exactly these two values."""
    return lambda difference: difference[1:3] == (kafka, ours)


def we_say(ours: Any) -> Check:
    """This value of ours, whatever Apache Kafka said."""
    return lambda difference: bool(difference.ours == ours)


def behind(count: int) -> Check:
    """An offset that is so much lower than Apache Kafka's."""
    return lambda difference: bool(difference.ours == difference.kafka - count)


def with_error(code: int) -> Check:
    """Whatever stands beside this error of ours."""
    return lambda difference: difference.error_code == code


def is_only_kafkas(difference: Difference) -> bool:
    """Something that we do not list."""
    return difference.ours is None


def is_hint(difference: Difference) -> bool:
    """A message of ours to an error."""
    return difference.kafka is None and bool(difference.error_code and difference.ours)


def are_times(difference: Difference) -> bool:
    """Both are times, as far as one can tell."""
    return all(time > 1_700_000_000_000 for time in difference[1:3])


def lacks_batches(count: int) -> Check:
    """The same batches in the same order, but for so many, with offsets to match."""

    def check(difference: Difference) -> bool:
        theirs, ours = list(batches(difference.kafka)), list(batches(difference.ours))
        rest = iter(theirs)
        return len(theirs) - len(ours) == count and all(one in rest for one in ours)

    return check


def batches(records: bytes) -> Iterable[bytes]:
    for position, header in scan(records):
        yield records[position + BASE_OFFSET_SIZE : position + header.size]
