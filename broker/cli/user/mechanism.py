"""The mechanism of a credential, as arguments name it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import word_of

if TYPE_CHECKING:
    import argparse

    from odradek.client.scram import Mechanism

MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def one_mechanism(text: str) -> str:
    """One of the mechanisms, in any case; for ``type=``."""
    found = word_of(MECHANISMS)(text)
    if len(found) != 1:
        from argparse import ArgumentTypeError

        raise ArgumentTypeError(f"name one of {', '.join(MECHANISMS)}")
    return found[0]


def mechanisms_of(options: argparse.Namespace) -> list[Mechanism]:
    """The one that the arguments name, or all."""
    from odradek.client.scram import Mechanism

    return [x for x in Mechanism if options.mechanism in (None, x.text)]
