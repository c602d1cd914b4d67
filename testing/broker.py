"""A broker for tests: started when it is entered, gone when it is left."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any

from .aio import Aio
from .clients import PLAIN, client_config
from .clock import Clock
from .control import ask
from .errors import BrokerError, Refused
from .faults import Faults
from .journal import TIMEOUT_S, Calls, Expectation, Journal, calls
from .options import broker_options, secured_by, texts
from .process import Address, BrokerProcess
from .room import new_directory, room
from .sharing import check_shared
from .snapshots import data_dir_in, opened, swap, take
from .state import State
from .topic import Topic
from .troubles import Troubles
from .waits import Waits

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping
    from types import TracebackType
    from typing import Self

    from .recording import Recording, Replayed
    from .security import Security
    from .snapshots import Snapshot

_NOT_RUNNING = (
    "this broker does not run: it does inside of 'with Broker() as broker', or between"
    " start() and close()"
)


class Broker(Troubles):
    """A broker in a process of its own, with a directory that goes with it.

    ``config`` are options of the broker, besides and in place of `options.DEFAULTS`.
    The ports stay the same over `kill` and `start`, and so does what topics hold.
    """

    # Whether others use it as well: what concerns them is refused then.
    is_shared = False
    _security: Security | None = None

    def __init__(
        self,
        config: Mapping[str, Any] | None = None,
        *,
        snapshot: Snapshot | str | os.PathLike[str] | None = None,
        keep: bool = False,
        security: str | None = None,
        users: Mapping[str, str] | None = None,
        acl: bool = False,
    ) -> None:
        """``keep``: leave the directory when the broker is closed.

        ``snapshot``, or its path: begin with what is in it. ``security``: "ssl",
        "sasl_ssl" or "sasl_plaintext", with ``users``, passwords by names, who log in.
        With ``acl`` lists say who may do what, and a user "admin" may do everything.

        Raises:
            BadSnapshot: there is none that can be used.
            BrokerError: nothing can be written anywhere, or no certificate be made.
            ValueError: security, users and acl do not fit each other.
        """
        origin = None if snapshot is None else opened(snapshot)
        secured = texts(config)
        if security is not None or users or acl:
            self._security = secured_by(security, users, acl, secured)
            secured = self._security.broker_options() | secured
        self.directory = new_directory(room())
        self.data_dir = data_dir_in(self.directory, origin)
        # What `topic` has made.
        self.topics: list[Topic] = []
        self._keep = keep
        self._address = Address("127.0.0.1", 0)
        self._process = BrokerProcess(
            broker_options(secured, self.data_dir),
            self.directory / "log",
            leftover=None if keep else self.directory,
            protocol=security or "",
        )

    def __repr__(self) -> str:
        is_started = not self.bootstrap.endswith(":0")
        where = f"at {self.bootstrap}" if is_started else "not started"
        return f"<{type(self).__name__} {where}>"

    @property
    def bootstrap(self) -> str:
        """``host:port``, for clients."""
        return f"{self._address.host}:{self._address.port}"

    @property
    def pid(self) -> int | None:
        """The id of its process; None while it does not run."""
        return self._process.pid

    @property
    def url(self) -> str:
        """``http://host:port`` of its HTTP listener: metrics, health, and what other
        languages ask of it (``POST /test/v1/NAME``).

        Raises:
            BrokerError: it has none; the option http.listener=127.0.0.1:0 gives it one.
        """
        for each in self.ask("addresses"):
            if each["protocol"] == "http":
                return f"http://{each['host'] or '127.0.0.1'}:{each['port']}"
        raise BrokerError("it has no HTTP listener: start it with http.listener")

    @property
    def aio(self) -> Aio:
        """The same methods, each to be awaited; with asyncio and with trio."""
        return Aio(self)

    def config(
        self, client: str, user: str | None = None, mechanism: str = PLAIN
    ) -> dict[str, Any]:
        """What a client has to be told: "confluent", "kafka-python", "aiokafka",
        "java" or "spark".

        ``user`` is who logs in, the first one if nobody is named; ``mechanism``:
        "PLAIN", "SCRAM-SHA-256" or "SCRAM-SHA-512".

        Raises:
            ValueError: there is no such client, user or mechanism.
        """
        given = self._security, user, mechanism
        return client_config(client, self.bootstrap, *given)

    def start(self) -> Self:
        """Start it, and return when clients can connect.

        Raises:
            BrokerError: it does not start; the message has what it said.
            SharedBroker: it runs, and for others as well.
        """
        __tracebackhide__ = True
        self._check_shared("start")
        self._address = self._process.start(self._address.port)
        if self._security is not None and self._security.users:
            self.ask("users.set", users=self._security.users)
        if self._process.has_chosen_ports:
            found = self.ask("addresses")
            self._process.keep_ports({each["name"]: each["port"] for each in found})
        return self

    def stop(self) -> None:
        """Stop it in order; `start` goes on with the same data.

        Raises:
            SharedBroker: others use it as well.
        """
        self._check_shared("stop")
        self._process.stop()

    def kill(self) -> None:
        """End it as ``kill -9`` does; `start` goes on with what it had written.

        Raises:
            SharedBroker: others use it as well.
        """
        self._check_shared("kill")
        self._process.kill()

    def snapshot(self, path: str | os.PathLike[str] | None = None) -> Snapshot:
        """What it holds now, in a directory: for `reset`, and for other brokers.

        Without ``path`` that goes when nobody refers to the snapshot any more.

        Raises:
            Refused: the path is taken, or cannot be written to.
        """
        return take(self, path)

    def reset(self, *, to: Snapshot | str | os.PathLike[str] | None = None) -> None:
        """Go back to a snapshot: on the same port, and with new connections.

        Clients come back by themselves. An idempotent producer that has written since
        the snapshot is out of sequence then, as in Kafka: make another. Without a
        snapshot: delete all topics, groups and transactional ids.

        Raises:
            BadSnapshot: there is none that can be used; nothing has changed.
            SharedBroker: others use it as well.
        """
        self._check_shared("reset")
        if to is None:
            self.ask("reset")
            return
        swap(self.data_dir, opened(to), between=self.kill)
        self.start()

    def close(self) -> None:
        """Stop it, and remove its directory.

        Raises:
            SharedBroker: others use it as well.
        """
        self._check_shared("close")
        self._process.stop()
        if not self._keep:
            shutil.rmtree(self.directory, ignore_errors=True)

    def log(self, since: int = 0) -> str:
        """All that it has said, or what came after that many bytes."""
        try:
            with (self.directory / "log").open("rb") as log:
                log.seek(since)
                return log.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""

    def ask(self, request: str, **fields: Any) -> list[dict[str, Any]]:
        """The items of the answer to a request of tests (docs/testing).

        Raises:
            Refused: the broker says no.
            SharedBroker: others use it as well, and it would concern them.
            BrokerError: it does not run.
        """
        if self.is_shared:
            check_shared(request, fields)
        try:
            return list(ask(self.data_dir, request, **fields))
        except Refused:
            raise
        except BrokerError as error:
            if self.pid is not None:
                raise
            if not (self.directory / "log").exists():
                raise BrokerError(_NOT_RUNNING) from None
            last = self._process.last_lines()
            raise BrokerError(f"{error}\nIt has ended. It said last:\n{last}") from None

    @property
    def wait(self) -> Waits:
        """Waits in the broker, in place of sleeps."""
        return Waits(self)

    def state(self, **names: list[str]) -> State:
        """What it knows now; ``topics=[...]`` and ``groups=[...]``: of these alone.

        Raises:
            Refused: there is no such topic.
        """
        return State(self.ask("state", **names))

    def topic(
        self, name: str, partitions: int = 1, config: Mapping[str, Any] | None = None
    ) -> Topic:
        """Make a topic.

        Raises:
            Refused: it cannot be made.
        """
        options = texts(config)
        wanted = {"name": name, "partitions": partitions, "config": options}
        self.ask("topics.create", topics=[wanted])
        made = Topic.of(self, name, partitions)
        self.topics.append(made)
        return made

    def _check_shared(self, action: str) -> None:
        if self.is_shared:
            check_shared(action)

    @property
    def clock(self) -> Clock:
        """Its time, which a test moves."""
        return Clock(self)

    @property
    def faults(self) -> Faults:
        """Faults on demand, of anybody's requests: see `odradek.testing.faults`."""
        return Faults(self.ask)

    def journal(self) -> Journal:
        """In a ``with``: calls are written down."""
        return Journal(self.ask)

    def calls(self, api: str | None = None, **wanted: Any) -> Calls:
        """The calls that were written down: see `odradek.testing.journal.calls`."""
        return calls(self.ask, api, **wanted)

    def expect(
        self,
        api: str | None = None,
        *,
        times: int | None = None,
        timeout: float = TIMEOUT_S,
        **wanted: Any,
    ) -> Expectation:
        """In a ``with``: such calls come, else it fails and shows what came instead.

        Without ``times`` one or more; 0: none at all.
        """
        return Expectation(self.ask, api, times, timeout, wanted)

    def record(
        self,
        path: str | os.PathLike[str],
        *,
        size_max: int | None = None,
        **match: Any,
    ) -> Recording:
        """In a ``with``: what clients ask and are answered is kept in a file.

        ``match`` says of which requests, as in `odradek.testing.faults`; by
        ``client_id`` it is all that a client asks. See `replay`.
        """
        from .recording import Recording

        return Recording(self.ask, path, match, size_max)

    def replay(
        self,
        path: str | os.PathLike[str],
        *,
        mask: Iterable[str] = (),
        timeout: float = 60.0,
        check: bool = True,
    ) -> Replayed:
        """Ask what was recorded, in its order, and compare the answers.

        Ids that a broker gives are those of now, and records are of today; brokers'
        addresses, times and messages are not compared, nor the fields in ``mask``.

        Raises:
            AssertionError: answers differ; without ``check`` they are returned.
            BadRecording: the file is none, half of one, or a newer one.
        """
        from .recording import checked, replayed

        __tracebackhide__ = True
        client = None if self._security is None else self.config("java")
        found = replayed(self.ask, path, mask, timeout, client)
        return checked(found) if check else found

    def __enter__(self) -> Self:
        __tracebackhide__ = True
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        await Aio(self.__enter__)()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aio.close()
