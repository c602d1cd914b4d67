"""Declarations for the tests of the compiler: every kind, every way to be absent."""

from odradek.protocol.primitives import Buffer
from odradek.protocol.schema import (
    Message,
    Struct,
    array,
    between,
    boolean,
    bytes_,
    float64,
    int8,
    int16,
    int32,
    int64,
    records,
    since,
    string,
    struct,
    uint16,
    uint32,
    until,
    uuid,
)


class Point(Struct):
    """Scalars only: its defaults can be shared."""

    x: int = int32()
    y: int = int64(default=-1)
    name: str = string(default="origin", versions=since(1))


class Leaf(Struct):
    value: int = int16()
    hint: str | None = string(nullable=True, default=None, versions=since(1))
    mark: int = int8(default=7, versions=since(3), tag=2)


class Branch(Struct):
    """Holds lists: its defaults are made anew."""

    leaves: list[Leaf] = array()
    at: Point = struct(versions=since(1))
    flags: list[bool] = array(of=boolean)


class Sample(Message, versions=(0, 5), flexible=3):
    flag: bool = boolean(default=True)
    tiny: int = int8()
    small: int = int16(default=-1)
    port: int = uint16(versions=since(1))
    number: int = int32(versions=until(3))
    wide: int = uint32(versions=between(1, 4))
    big: int = int64()
    ratio: float = float64(default=0.5)
    topic_id: bytes = uuid(versions=since(2))
    name: str = string()
    note: str | None = string(nullable=since(1))
    rack: str | None = string(nullable=True, default=None, versions=since(2))
    blob: Buffer = bytes_()
    payload: Buffer | None = bytes_(nullable=since(2), default=None, versions=since(2))
    batch: Buffer | None = records()
    ids: list[int] = array(of=int32)
    offsets: list[int] | None = array(of=int64, nullable=since(1))
    topic_ids: list[bytes] = array(of=uuid, versions=since(1))
    names: list[str] = array()
    blobs: list[Buffer] = array(of=bytes_)
    point: Point = struct()
    maybe: Branch | None = struct(nullable=since(1), default=None, versions=since(1))
    branches: list[Branch] | None = array(nullable=since(4), versions=since(1))
    other_batch: Buffer | None = records(versions=since(4))
    tagged_name: str | None = string(
        nullable=True, default=None, versions=since(3), tag=0
    )
    tagged_point: Point = struct(versions=since(3), tag=1)
    tagged_list: list[Leaf] = array(versions=since(4), tag=3)
    tagged_branch: Branch = struct(versions=since(4), tag=300)
    tagged_id: bytes = uuid(versions=since(5), tag=5)
    tagged_flag: bool = boolean(versions=since(5), tag=4)
    tagged_ratio: float = float64(default=1.5, versions=since(5), tag=6)
    tagged_choice: Point | None = struct(
        nullable=True, default=None, versions=since(5), tag=7
    )
    tagged_ids: list[int] | None = array(
        of=int32, nullable=True, versions=since(5), tag=8
    )


VERSIONS = range(Sample.min_version, Sample.max_version + 1)


def full_sample() -> Sample:
    """A sample in which every part has something that differs from its default."""
    point = Point(x=1, y=2, name="p")
    leaf = Leaf(value=3, hint="h", mark=1)
    branch = Branch(leaves=[leaf, Leaf()], at=point, flags=[True, False])
    sample = Sample(
        flag=False,
        tiny=-1,
        small=2,
        port=9092,
        number=4,
        wide=1 << 31,
        big=-(1 << 40),
        ratio=0.25,
        topic_id=bytes(range(16)),
        name="n" * 130,
        note="é",
        rack="r",
        blob=b"blob",
        payload=b"payload",
        batch=b"batch" * 60,
        ids=[1, 2],
        offsets=list(range(7)),
        topic_ids=[bytes(16)],
        names=["a", ""],
        blobs=[b"", b"z"],
        point=point,
        maybe=branch,
        branches=[branch, Branch()],
        other_batch=b"other",
        tagged_name="",
        tagged_point=point,
        tagged_list=[leaf],
        tagged_branch=branch,
        tagged_id=bytes(range(16)),
        tagged_flag=True,
        tagged_ratio=0.0,
        tagged_choice=point,
        tagged_ids=None,
    )
    sample.unknown_tags = {2: b"two", 400: b""}
    return sample
