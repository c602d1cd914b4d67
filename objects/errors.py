"""What a store's objects fail with; each says the host, and what to do.

No message has a credential, a signature, or what a store has answered: its answers
repeat requests.
"""

from __future__ import annotations


class StoreError(OSError):
    """Objects cannot be read or written as they should be."""


class StoreAway(StoreError):
    """The store does not answer now, however often it was asked; it may later."""


class StoreRefused(StoreError):
    """The store will not do it: credentials, rights, a bucket, an option."""


class NoSuchObject(StoreError, FileNotFoundError):
    """There is no object of this name."""
