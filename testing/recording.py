"""Conversations of clients with a broker, kept in a file, and held again.

    with broker.record("orders.recording", client_id="orders-*") as recording:
        ...                                # clients that connect in here
    other.replay("orders.recording")       # fails where an answer is another one

A replay begins where the recording did: on a broker with the same topics, which are as
they were then; a snapshot that was taken before, and `Broker(snapshot=)`, is that.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import BadRecording, Refused

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Mapping
    from typing import Self

    Ask = Callable[..., list[dict[str, Any]]]

TIMEOUT_S = 60.0
_SHOWN_MAX = 40
_NO_FILE = "bad-recording"


class Recording:
    """Keeps calls in a file as long as it is entered.

    The file is there when the ``with`` block is over, in place of one that was; not if
    the block fails. ``calls`` are as many as it has then.
    """

    def __init__(
        self,
        ask: Ask,
        path: str | os.PathLike[str],
        match: Mapping[str, Any],
        size_max: int | None = None,
    ) -> None:
        self.path = Path(path).absolute()
        self.calls = 0
        self._ask = ask
        self._match = dict(match)
        self._size_max = size_max
        self._number = 0

    def __enter__(self) -> Self:
        path, match = str(self.path), self._match
        [item] = self._ask(
            "recording.begin", path=path, match=match, size_max=self._size_max
        )
        self._number = item["recording"]
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        is_kept = kind is None
        [item] = self._ask("recording.end", recording=self._number, keep=is_kept)
        self.calls = item["calls"]


class Difference(NamedTuple):
    """Where an answer is another one than was recorded.

    ``path`` leads to the field, as in ``.responses[0].error_code``; ``call`` is the
    number of the call in the recording.
    """

    call: int
    api: str
    version: int
    path: str
    recorded: Any
    found: Any

    def __str__(self) -> str:
        path = self.path.removeprefix(".")
        recorded, found = _text(self.recorded), _text(self.found)
        return (
            f"call {self.call}, {self.api} v{self.version}: {path}: "
            f"recorded {recorded}, now {found}"
        )


class Replayed(list[Difference]):
    """The differences, the first hundred; ``total`` is how many there are in all,
    and ``calls`` how many requests were sent.
    """

    calls: int
    total: int

    @classmethod
    def of(cls, items: Iterable[Mapping[str, Any]]) -> Self:
        """Those in an answer of the broker."""
        *differences, end = items
        replayed = cls(Difference(**each["difference"]) for each in differences)
        replayed.calls, replayed.total = end["calls"], end["differences"]
        return replayed

    def __str__(self) -> str:
        lines = [f"  {each}" for each in self[:_SHOWN_MAX]]
        if self.total > len(lines):
            lines.append(f"  and {self.total - len(lines)} more")
        title = f"{self.total} differences in {self.calls} calls"
        return "\n".join([f"{title}:" if lines else title, *lines])


def replayed(
    ask: Ask,
    path: str | os.PathLike[str],
    mask: Iterable[str] = (),
    timeout: float = TIMEOUT_S,
    client: Mapping[str, Any] | None = None,
) -> Replayed:
    """What a broker that answers requests of tests says of a recording.

    Raises:
        BadRecording: it cannot be replayed.
        Refused: the broker cannot be asked.
    """
    given = {"mask": list(mask), "timeout_ms": int(timeout * 1000)}
    try:
        items = ask(
            "replay",
            path=str(Path(path).absolute()),
            client=dict(client or {}),
            **given,
        )
    except Refused as refused:
        if refused.word.lower().replace("_", "-") == _NO_FILE:
            raise BadRecording(str(refused)) from None
        raise
    return Replayed.of(items)


def checked(replayed: Replayed) -> Replayed:
    """The same, if there is no difference.

    Raises:
        AssertionError: there is one; the message has them.
    """
    if replayed:
        raise AssertionError(str(replayed))
    return replayed


def replay(
    path: str | os.PathLike[str],
    bootstrap: str,
    *,
    mask: Iterable[str] = (),
    timeout: float = TIMEOUT_S,
    client: Mapping[str, Any] | None = None,
    check: bool = True,
) -> Replayed:
    """Replay on any Kafka: ``host:port``; see `odradek.testing.Broker.replay`.

    ``client`` are options for TLS and SASL, by Java's or librdkafka's names.
    """
    from .external import ExternalBroker

    there = ExternalBroker(bootstrap)
    found = replayed(there.ask, path, mask, timeout, client)
    return checked(found) if check else found


def command(
    path: str,
    mask: Iterable[str],
    timeout_ms: int,
    client: Mapping[str, Any],
    run: Callable[..., list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """The answer to ``replay`` of a Kafka that is asked by ``odradek replay``."""
    masked = [f"--mask={each}" for each in mask]
    words = ["replay", path, *masked, f"--timeout={timeout_ms}ms"]
    with tempfile.TemporaryDirectory(prefix="odradek-") as folder:
        if client:
            file = Path(folder) / "client.properties"
            lines = (f"{name}={_escaped(value)}\n" for name, value in client.items())
            file.touch(mode=0o600)
            file.write_text("".join(lines), encoding="utf-8")
            words.append(f"--command-config={file}")
        items = run(*words, end="calls", timeout_s=None)
    return [each for each in items if "error" not in each]


def _escaped(value: Any) -> str:
    """As a file of properties has it."""
    return str(value).replace("\\", "\\\\").replace("\n", "\\n")


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
