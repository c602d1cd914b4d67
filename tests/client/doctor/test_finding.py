from odradek.client.doctor.finding import Finding


def test_what_is_well_needs_no_advice() -> None:
    assert Finding("name", "a:1", True, "is 127.0.0.1").advice == ""
