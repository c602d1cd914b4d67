import pytest


def test_tests_of_a_module_share_a_process(
    request: pytest.FixtureRequest, worker_id: str
) -> None:
    """Where pytest-xdist fails to set groups, it says nothing."""
    if worker_id == "master":
        pytest.skip("there is one process")
    assert request.node.nodeid.endswith("@test_conftest.py")
