"""The three ways to the users: of a cluster, of a broker here, of one that is stopped.

Whoever may open a data directory is its operator: with ``--data-dir`` its broker is
asked on its admin socket, and if none runs the directory itself is opened. So the
first user needs no listener on which somebody gets in without a name.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING, Any, Protocol

from odradek.broker.cli.admin.admin_client import AdminRefusal, ask
from odradek.broker.cli.arguments.cluster_options import run
from odradek.client.scram import (
    Credential,
    Mechanism,
    Users,
    alter_user,
    describe_users,
)
from odradek.protocol.errors import KafkaError, ResourceNotFound
from odradek.protocol.messages.scram import (
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from odradek.terminal.failure import FAILED, fail

if TYPE_CHECKING:
    import argparse
    from collections.abc import Awaitable, Callable, Collection
    from pathlib import Path

    from odradek.broker.metadata.scram_credentials import ScramCredentials
    from odradek.client.cluster import Cluster

    Change = ScramCredentialUpsertion | ScramCredentialDeletion


class Door(Protocol):
    """Where users are asked for, and changed."""

    def describe(self, names: Collection[str] | None = None) -> Users:
        """The credentials of these users, or of all."""

    def change(self, change: Change) -> None:
        """Make a change, durably.

        Raises:
            KafkaError: it is refused.
        """


class _OfCluster:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def describe(self, names: Collection[str] | None = None) -> Users:
        return describe_users(self._cluster, names)

    def change(self, change: Change) -> None:
        alter_user(self._cluster, change)


class _OfBroker:
    """A broker that runs here, asked on its admin socket."""

    def __init__(self, directory: Path, timeout_s: float) -> None:
        self._directory = directory
        self._timeout_s = timeout_s

    def describe(self, names: Collection[str] | None = None) -> Users:
        found = {
            each["user"]: [Credential(**known) for known in each["credentials"]]
            for each in self._ask({"request": "users"})
        }
        return _chosen(found, names)

    def change(self, change: Change) -> None:
        mechanism = Mechanism(change.mechanism).text
        request = {"user": change.name, "mechanism": mechanism}
        if isinstance(change, ScramCredentialDeletion):
            self._ask({"request": "remove-user", **request})
            return
        hashed = {
            "iterations": change.iterations,
            "salt": b64encode(bytes(change.salt)).decode(),
            "saltedPassword": b64encode(bytes(change.salted_password)).decode(),
        }
        self._ask({"request": "set-user", **request, **hashed})

    def _ask(self, request: dict[str, Any]) -> list[dict[str, Any]]:
        from odradek.protocol.errors import ErrorCode, error_class

        try:
            return list(ask(self._directory, request, self._timeout_s))
        except AdminRefusal as error:
            if error.word in ErrorCode.__members__:
                raise error_class(ErrorCode[error.word])(str(error)) from None
            raise


class _OfDirectory:
    """The directory of a broker that is stopped."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def describe(self, names: Collection[str] | None = None) -> Users:
        async def act(users: ScramCredentials) -> dict[str, list[Credential]]:
            return {
                name: [
                    Credential(mechanism.title, each.iterations)
                    for mechanism, each in users.of(name).items()
                ]
                for name in sorted(users.users())
            }

        return _chosen(self._run(act), names)

    def change(self, change: Change) -> None:
        from odradek.broker.cli.node.stopped_directory import alter_all

        self._run(lambda users: alter_all(users, [change]))

    def _run(self, act: Callable[[ScramCredentials], Awaitable[Any]]) -> Any:
        from odradek.broker.cli.node.stopped_directory import with_users

        return with_users(self._directory, act)


def _chosen(found: dict[str, list[Credential]], names: Collection[str] | None) -> Users:
    """Those of these names, as a cluster would answer."""
    if names is None:
        return Users(found, {})
    failed: dict[str, KafkaError] = {
        name: ResourceNotFound(
            f"Attempt to describe a user credential that does not exist: {name}"
        )
        for name in names
        if not found.get(name)
    }
    return Users({name: found[name] for name in names if name not in failed}, failed)


def run_at_door(
    command: str, options: argparse.Namespace, act: Callable[[Door], int]
) -> int:
    """The exit code of ``act``, with the users that the arguments mean."""
    if options.data_dir is None:
        return run(command, options, lambda cluster: act(_OfCluster(cluster)))
    from odradek.broker.cli.arguments.refusals import refuse
    from odradek.broker.cli.node.serve import explain

    try:
        return act(_door_of(options))
    except AdminRefusal as error:
        return fail(command, FAILED, error)
    except KafkaError as error:
        return refuse(command, error)
    except Exception as error:
        reason = explain(error)
        if reason is None:  # a bug
            raise
        return fail(command, FAILED, reason)


def _door_of(options: argparse.Namespace) -> Door:
    from odradek.storage.fsck.lock_holder import lock_holder

    directory: Path = options.data_dir
    if not directory.is_dir():
        raise AdminRefusal(
            f"{directory} is not there; --data-dir says where the data lives"
        )
    if lock_holder(directory) is None:
        return _OfDirectory(directory)
    return _OfBroker(directory, options.timeout)
