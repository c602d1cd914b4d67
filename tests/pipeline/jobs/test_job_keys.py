"""The keys of job files, as they are declared."""

import pytest

from odradek.pipeline.jobs.job_keys import KEYS


@pytest.mark.parametrize("section", KEYS)
def test_defaults_are_of_their_types(section: str) -> None:
    for name, key in KEYS[section].items():
        assert key.default is None or isinstance(key.default, key.kind), name
        assert not key.choices or key.default in key.choices, name
        assert key.meaning.endswith("."), name


def test_a_key_is_in_one_section_or_means_the_same() -> None:
    names = [name for keys in KEYS.values() for name in keys]
    shared = {name for name in names if names.count(name) > 1}
    assert shared == {"format", "path"}
