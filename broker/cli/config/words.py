"""Options of topics and brokers as arguments say them: ``name=value``."""

from __future__ import annotations

import argparse


def name_value(text: str) -> tuple[str, str]:
    """An option and its value; for ``type=``."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(
            f"{text!r} sets nothing; write it like retention.ms=86400000"
        )
    return name.strip(), value.strip()


def name_only(text: str) -> str:
    """The name of an option to delete; for ``type=``."""
    if not text.strip() or "=" in text:
        raise argparse.ArgumentTypeError(f"{text!r} cannot be the name of an option")
    return text.strip()
