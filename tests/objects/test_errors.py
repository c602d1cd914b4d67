"""Errors of stores are those of files, for who knows only these."""

import pickle

from odradek.objects.errors import NoSuchObject, StoreAway, StoreRefused


def test_they_are_errors_of_the_system() -> None:
    for kind in (StoreAway, StoreRefused, NoSuchObject):
        error = pickle.loads(pickle.dumps(kind("said so")))
        assert isinstance(error, OSError)
        assert str(error) == "said so"
    assert issubclass(NoSuchObject, FileNotFoundError)
