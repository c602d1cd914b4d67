"""The options of the plugin, on the command line and in the configuration file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from typing import Self

XDIST_MODES = ("run", "worker")


class Settings(NamedTuple):
    """What was asked for; the command line goes before the file."""

    bootstrap: str
    per_worker: bool
    keep: bool
    strict: bool

    @classmethod
    def of(cls, config: pytest.Config) -> Self:
        """Those of this run.

        Raises:
            pytest.UsageError: the file says what makes no sense.
        """

        __tracebackhide__ = True

        def given(name: str) -> Any:
            __tracebackhide__ = True
            value = config.getoption(f"odradek_{name}", None)
            return config.getini(f"odradek_{name}") if value is None else value

        mode = given("xdist")
        if mode not in XDIST_MODES:
            choices = " or ".join(XDIST_MODES)
            raise pytest.UsageError(f"odradek_xdist is {mode!r}; it is {choices}")

        def flag(name: str) -> bool:
            __tracebackhide__ = True
            try:
                return bool(given(name))
            except (ValueError, pytest.UsageError) as error:
                told = f"odradek_{name}: {error}; it is true or false"
                raise pytest.UsageError(told) from None

        return cls(given("bootstrap"), mode == "worker", flag("keep"), flag("strict"))


def add_options(parser: pytest.Parser) -> None:
    """``--odradek-...``, and ``odradek_...`` in the file."""
    group = parser.getgroup("odradek", "a Kafka broker for tests (odradek)")

    def add(name: str, help_: str, **how: Any) -> None:
        group.addoption(f"--odradek-{name}", dest=f"odradek_{name}", help=help_, **how)

    def add_text(name: str, default: str, help_: str, **how: Any) -> None:
        add(name, help_, **how)
        parser.addini(f"odradek_{name}", help_, type="string", default=default)

    def add_flag(name: str, help_: str) -> None:
        add(name, help_, action="store_true", default=None)
        parser.addini(f"odradek_{name}", help_, type="bool", default=False)

    add_text(
        "bootstrap",
        "",
        "run on the Kafka that is there, and start no broker",
        metavar="HOST:PORT",
    )
    add_text(
        "xdist",
        "run",
        "with pytest-xdist: one broker for the run (default), or one each worker",
        choices=XDIST_MODES,
    )
    add_flag("keep", "leave brokers' data and topics when the run ends")
    add_flag(
        "strict",
        "fail tests that leave active groups, open transactions, unfired rules",
    )
