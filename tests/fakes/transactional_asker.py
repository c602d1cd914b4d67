"""Requests that are asked again as a transactional producer of Kafka asks again."""

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from odradek.protocol.messages.groups import FindCoordinatorRequest
from odradek.protocol.messages.txn_offsets import TxnOffsetCommitRequest
from odradek.protocol.schema import Request
from tests.fakes.async_link import AsyncLink
from tests.fakes.transaction_errors import LOOK_UP, GaveUp, failure

_GROUP, _TRANSACTION = 0, 1  # the kinds of coordinator

Codes = Callable[[Any], Iterable[int]]


class Exchange(NamedTuple):
    """One request, the how-manieth time (from 0), and what came of it."""

    request: Request
    version: int
    attempt: int
    outcome: Any  # the response, or the TimeoutError or ConnectionError


class Hooks:
    """What a test may do around every request; nothing by default."""

    async def asking(self, request: Request, version: int, attempt: int) -> None:
        """Before it is sent."""

    async def asked(self, exchange: Exchange) -> None:
        """After the answer, or in place of it."""

    async def back_off(self, attempt: int) -> None:
        """Between two attempts."""
        await asyncio.sleep(min(0.005 * 2**attempt, 0.1))


def error_code(answer: Any) -> list[int]:
    """The code of an answer that has one."""
    return [answer.error_code]


class Asker:
    """One connection at a time; ``address`` is where the next one goes."""

    def __init__(
        self,
        address: str,
        client_id: str,
        *,
        request_timeout_s: float = 10,
        deadline_s: float = 60,
        hooks: Hooks | None = None,
    ) -> None:
        """Nothing is connected before something is asked."""
        self.address = address
        self.client_id = client_id
        self.request_timeout_s = request_timeout_s
        self.deadline_s = deadline_s
        self.hooks = hooks or Hooks()
        self._link: AsyncLink | None = None
        self._opening = asyncio.Lock()

    async def find_coordinator(self, group_id: str | None = None) -> None:
        """Ask until there is one, of a group or of the own id; where is no matter."""
        request = FindCoordinatorRequest(
            key_type=_TRANSACTION if group_id is None else _GROUP,
            coordinator_keys=[self.client_id if group_id is None else group_id],
        )
        await self.ask(
            request, 4, lambda answer: [each.error_code for each in answer.coordinators]
        )

    async def ask(
        self,
        request: Request | Callable[[], Request],
        version: int,
        codes: Codes = error_code,
    ) -> Any:
        """The answer without an error code, after as many attempts as that takes.

        Raises:
            Abortable, Fatal: an error code that is not asked again.
            GaveUp: there was none within ``deadline_s``.
        """
        deadline = time.monotonic() + self.deadline_s
        attempt = 0
        while True:
            asked = request if isinstance(request, Request) else request()
            outcome = await self._attempt(asked, version, attempt)
            if not isinstance(outcome, Exception):
                found = {each for each in codes(outcome) if each}
                if not found:
                    return outcome
                for code in sorted(found):
                    error = failure(asked, code)
                    if error is not None:
                        raise error
                if found & LOOK_UP and not isinstance(asked, FindCoordinatorRequest):
                    of_group = isinstance(asked, TxnOffsetCommitRequest)
                    await self.find_coordinator(asked.group_id if of_group else None)
            if time.monotonic() > deadline:
                raise GaveUp(f"{type(asked).__name__}: {outcome!r}")
            await self.hooks.back_off(attempt)
            attempt += 1

    async def _attempt(self, request: Request, version: int, attempt: int) -> Any:
        """The answer, or the error in its place, after which the link is closed."""
        await self.hooks.asking(request, version, attempt)
        outcome: Any
        link = None
        try:
            async with asyncio.timeout(self.request_timeout_s):
                link = await self._open()
                outcome = await link.request(request, version)
        except (TimeoutError, OSError) as error:
            outcome = error
            if link is not None:
                await link.close()
        await self.hooks.asked(Exchange(request, version, attempt, outcome))
        return outcome

    async def _open(self) -> AsyncLink:
        async with self._opening:
            if self._link is None or self._link.is_closed:
                self._link = await AsyncLink.open(self.address, self.client_id)
            return self._link

    async def close(self) -> None:
        """Close the connection."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()
