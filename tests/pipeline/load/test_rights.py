from odradek.pipeline.load.rights import needs_of


def test_all_that_a_load_asks() -> None:
    said = [str(need) for need in needs_of("job", "rows", "load-job", "notes")]
    assert "Write on topic rows" in said
    assert "Create on topic notes" in said
    assert "Write on transactional id job" in said
    assert "Read on group load-job" in said
