import pickle

from odradek.pipeline.errors import (
    BadOption,
    DataLoss,
    SourceError,
    did_you_mean,
)


def test_errors_come_back_from_a_worker_as_they_were() -> None:
    error = pickle.loads(pickle.dumps(BadOption("path", "is no directory.")))
    assert (error.option, str(error)) == ("path", "Option path: is no directory.")
    assert isinstance(error, SourceError)
    assert str(pickle.loads(pickle.dumps(DataLoss("gone")))) == "gone"


def test_what_looks_most_like_it() -> None:
    names = ["startingOffsets", "endingOffsets"]
    assert did_you_mean("StartingOffset", names) == " Did you mean startingOffsets?"
    assert did_you_mean("zzz", names) == ""
