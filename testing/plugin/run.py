"""What a run of pytest has started, and what the test of the moment has made of it."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

from odradek.testing.broker import Broker
from odradek.testing.errors import BrokerError
from odradek.testing.names import Names
from odradek.testing.options import texts
from odradek.testing.runs import did_not_start

from .options import Settings
from .shared_run import SharedRun
from .used import Used

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Self

    from odradek.testing.external import ExternalBroker
    from odradek.testing.topic import Topic

_WATCH = "odradek-watch"


class PluginRun:
    """The brokers of a process that runs tests: the controller's, or a worker's."""

    def __init__(self, config: pytest.Config) -> None:
        self.settings = Settings.of(config)
        worker = getattr(config, "workerinput", {}).get("workerid", "main")
        # There may be topics of an earlier run.
        token = f"-{os.urandom(3).hex()}" if self.settings.bootstrap else ""
        self.names = Names(worker + token)
        self.used = Used(self.names)
        self.brokers: dict[str, Broker] = {}
        self._shared: dict[str, Broker] = {}
        self._failures: dict[str, BrokerError] = {}
        self._shared_run = SharedRun.of(config)

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """That of this run; tests are watched from the first use on."""
        watch = config.pluginmanager.get_plugin(_WATCH)
        if watch is None:
            from .watch import Watch

            watch = Watch(cls(config))
            config.pluginmanager.register(watch, _WATCH)
        run = watch.run
        assert isinstance(run, cls)
        return run

    def name(self, request: pytest.FixtureRequest) -> str:
        """A name for something that this test makes."""
        return self.names.next(request.node.name)

    def scope(self, request: pytest.FixtureRequest) -> str:
        """How the names of all that this test makes begin."""
        return self.names.start(request.node.name)

    def shared(self, config: Mapping[str, Any] | None = None, name: str = "") -> Broker:
        """The broker of all tests with this configuration; ``name`` of the fixture.

        Raises:
            BrokerError: it does not start; whoever asks again skips.
        """
        __tracebackhide__ = True
        key = _key(config)
        self._skip_after_failure(key)
        if key not in self._shared:
            try:
                self._shared[key] = self._find(config, key)
            except BrokerError as error:
                self._failures[key] = error
                raise
            self.used.found(self._shared[key])
        if name:
            self.brokers[name] = self._shared[key]
        return self._shared[key]

    def own(
        self,
        config: Mapping[str, Any] | None = None,
        how: Mapping[str, Any] | None = None,
    ) -> Broker:
        """A broker for who asks, who closes it; ``how``: what else `Broker` takes.

        Raises:
            BrokerError: it does not start; whoever asks again skips.
        """
        __tracebackhide__ = True
        if self.settings.bootstrap:
            pytest.skip(
                "it needs a broker of its own, and the run has that of "
                f"--odradek-bootstrap={self.settings.bootstrap}"
            )
        key = _key(config, how)
        self._skip_after_failure(key)
        try:
            return Broker(config, keep=self.settings.keep, **(how or {})).__enter__()
        except BrokerError as error:
            self._failures[key] = error
            raise

    def lend(
        self,
        name: str,
        config: Mapping[str, Any] | None = None,
        how: Mapping[str, Any] | None = None,
    ) -> Broker:
        """A broker of its own for the fixture of that name, which gives it back.

        Raises:
            BrokerError: it does not start; whoever asks again skips.
        """
        __tracebackhide__ = True
        self.brokers[name] = broker = self.own(config, how)
        return broker

    def take_back(self, name: str) -> None:
        """End the broker of that fixture."""
        self.brokers.pop(name).close()

    def external(self, bootstrap: str) -> ExternalBroker:
        """The Kafka that is there.

        Raises:
            BrokerError: it does not answer; whoever asks again skips.
        """
        from odradek.testing.external import ExternalBroker

        __tracebackhide__ = True
        self._skip_after_failure(bootstrap)
        try:
            return ExternalBroker(bootstrap).start()
        except BrokerError as error:
            self._failures[bootstrap] = error
            raise

    def is_failure(self, error: BaseException | None) -> bool:
        """Whether this is why a broker did not start."""
        return any(error is each for each in self._failures.values())

    def started(self) -> list[Broker]:
        """Those that are there now."""
        return [*self._shared.values(), *self.brokers.values()]

    def delete(self, topics: Iterable[Topic]) -> None:
        """Delete what a test has made, unless it is to be kept."""
        if self.settings.keep:
            return
        for topic in topics:
            with suppress(BrokerError):  # the test has deleted it, or the broker ended
                topic.delete()

    def close(self) -> None:
        """End the brokers that this process shares with nobody."""
        for broker in self._shared.values():
            if type(broker) is Broker:
                broker.is_shared = False
                broker.close()
        self._shared.clear()

    def _find(self, config: Mapping[str, Any] | None, key: str) -> Broker:
        __tracebackhide__ = True
        if self.settings.bootstrap:
            return self.external(self.settings.bootstrap)
        if self._shared_run is not None:
            return self._shared_run.broker(config, key)
        broker = Broker(config, keep=self.settings.keep).__enter__()
        broker.is_shared = True
        return broker

    def _skip_after_failure(self, key: str) -> None:
        __tracebackhide__ = True
        if key in self._failures:
            pytest.skip(did_not_start(self._failures[key]))


def _key(config: Mapping[str, Any] | None, how: Mapping[str, Any] | None = None) -> str:
    """What tells brokers apart."""
    __tracebackhide__ = True
    key = json.dumps(texts(config), sort_keys=True)
    return key if not how else f"{key} {json.dumps(dict(how), default=str)}"
