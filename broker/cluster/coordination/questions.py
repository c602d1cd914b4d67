"""What one broker is asked again and again: one request at a time, for all who wait.

What is asked meanwhile goes together into the next request, as far as its kind can.
Every question is answered, also by a broker that cannot be reached: one that does not
answer in time is not waited for once more by those who have waited behind that.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from odradek.broker.runtime.parked import Parked
from odradek.client.errors import Unreachable
from odradek.protocol.errors import KafkaError, MalformedRequest

if TYPE_CHECKING:
    from collections.abc import Hashable

    from odradek.broker.cluster.controller_channel import ControllerChannel
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.memory.limits import LimitedLog
    from odradek.protocol.schema import Request, Response

TIMEOUT_S: Final = 30.0  # request.timeout.ms


class Kind(Protocol):
    """One kind of question, and its place in requests and answers."""

    @property
    def response_class(self) -> type[Response]:
        """What the answers are."""

    @property
    def together_max(self) -> int:
        """How many go into one request, so that it stays below what brokers take."""

    def group_of(self, content: Any) -> Hashable:
        """What is the same in all that goes into one request."""

    def request(self, contents: list[Any]) -> Request:
        """What asks all of them."""

    def answers(self, response: Any) -> dict[Hashable, Any]:
        """What was answered, by the key of the question."""

    def told(self, content: Any, found: Any | None) -> Any:
        """What who asked is told of that; None: there was no answer."""


class _Question(NamedTuple):
    key: Hashable
    content: Any
    answers: list[Parked[Any]]  # of all who ask just that


class Questions:
    """The questions of one kind to one broker."""

    def __init__(
        self,
        name: str,
        kind: Kind,
        channel: ControllerChannel,
        bugs: Bugs,
        log: LimitedLog,
    ) -> None:
        """``name`` is what the log calls them."""
        self._name = name
        self._kind = kind
        self._channel = channel
        self._bugs = bugs
        self._log = log
        self._waiting: dict[Hashable, _Question] = {}  # by key and part
        self._asking: asyncio.Task[None] | None = None

    def ask(self, key: Hashable, content: Any, part: Hashable = ()) -> Parked[Any]:
        """What the broker says, or that it said nothing.

        Answers are told apart by ``key``: of two with the same one, the second waits
        for the answer to the first. Of two that wait for the same ``part``, both get
        one answer if they ask the very same. Else the first is not asked any more, and
        told so: what it would have asked is out of date.
        """
        answer: Parked[Any] = Parked()
        waiting = self._waiting.get((key, part))
        if waiting is not None and waiting.content == content:
            waiting.answers.append(answer)
            return answer
        self._waiting.pop((key, part), None)
        self._waiting[key, part] = _Question(key, content, [answer])
        if waiting is not None:
            self._tell({key: waiting}, {})
        if self._asking is None:
            self._asking = asyncio.get_running_loop().create_task(
                self._ask_all(), name="questions to a broker"
            )
        return answer

    def give_up(self) -> None:
        """The broker is away: who waits hears now that there is no answer."""
        self._channel.drop_former_leader()
        self._tell_all_waiting()

    def _tell_all_waiting(self) -> None:
        waiting, self._waiting = self._waiting, {}
        for each in waiting.values():
            self._tell({each.key: each}, {})

    async def close(self) -> None:
        """Ask nothing any more; who waits is told that there was no answer."""
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        self._channel.close()
        while self._waiting:
            self._tell(self._taken(), {})

    async def _ask_all(self) -> None:
        try:
            while self._waiting:
                await self._ask_some(self._taken())
        finally:
            self._asking = None

    def _taken(self) -> dict[Hashable, _Question]:
        taken: dict[Hashable, _Question] = {}
        kind, left = self._kind, {}
        group = kind.group_of(next(iter(self._waiting.values())).content)
        for place, each in self._waiting.items():
            if (
                each.key in taken
                or len(taken) == kind.together_max
                or kind.group_of(each.content) != group
            ):
                left[place] = each
            else:
                taken[each.key] = each
        self._waiting = left
        return taken

    async def _ask_some(self, asked: dict[Hashable, _Question]) -> None:
        found: dict[Hashable, Any] = {}
        try:
            request = self._kind.request([each.content for each in asked.values()])
            found = self._kind.answers(await self._answer(request))
        except (KafkaError, OSError, MalformedRequest) as error:
            # Asked again by whoever needs it, which may be often.
            why = f"{self._name} get no answer: {str(error) or repr(error)}"
            self._log.warn_once((self._name, type(error)), why)
            if isinstance(error, TimeoutError):
                self._tell_all_waiting()
        except Exception as error:
            self._bugs.record("questions to a broker", error)
        finally:
            self._tell(asked, found)

    def _tell(
        self, asked: dict[Hashable, _Question], found: dict[Hashable, Any]
    ) -> None:
        for key, (_, content, answers) in asked.items():
            for answer in answers:
                try:
                    answer.set_result(self._kind.told(content, found.get(key)))
                except Exception as error:  # of who listens: the others are told
                    self._bugs.record("what a broker has answered", error)

    async def _answer(self, request: Request) -> Response:
        response_class = self._kind.response_class
        try:
            return await self._channel.ask(request, response_class, TIMEOUT_S)
        except (Unreachable, TimeoutError):
            raise
        except OSError:
            # It has hung up, as on everybody who was quiet for long: connect anew.
            return await self._channel.ask(request, response_class, TIMEOUT_S)
