"""With ``--odradek-strict``: what a test must not leave behind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from odradek.testing.errors import BrokerError

from .traces import Traces

if TYPE_CHECKING:
    from odradek.testing import Broker

    from .used import Used


def check_leftovers(broker: Broker, used: Used) -> None:
    """Fail the test for what is still there of it."""
    try:
        found = leftovers(Traces(broker, used))
    except BrokerError:
        return  # it has ended, and all of this with it
    if found:
        pytest.fail("the test leaves behind:\n" + "\n".join(found), pytrace=False)


def leftovers(traces: Traces) -> list[str]:
    """A line for each."""
    found = [
        f"  group {group['group']} with {len(group['members'])} members: "
        "a consumer was not closed"
        for group in traces.active_groups()
    ]
    found += [
        f"  transaction of {each['id']}, {each['state']}: neither committed nor aborted"
        for each in traces.open_transactions()
    ]
    found += [
        f"  rule {rule['id']} for {rule['match']}: no request met it"
        for rule in traces.unfired_rules()
    ]
    return found
