from odradek.broker.metadata.delegation_token import DelegationToken

TOKEN = DelegationToken("id", "User:a", "User:b", ("User:c", "User:d,\n"), 1, 5, 9)


def test_it_is_read_as_it_was_written() -> None:
    assert DelegationToken.read(TOKEN.row()) == TOKEN


def test_it_holds_until_it_has_expired_or_cannot_be_renewed_any_more() -> None:
    assert [TOKEN.has_expired(now_ms) for now_ms in (4, 5, 6)] == [False, False, True]
    renewed = TOKEN._replace(expiry_ms=99)
    assert [renewed.has_expired(now_ms) for now_ms in (9, 10)] == [False, True]


def test_who_has_to_do_with_it() -> None:
    people = ("User:a", "User:b", "User:c", "User:e", "a")
    assert [each for each in people if TOKEN.may_be_renewed_by(each)] == [
        "User:a",
        "User:c",
    ]
    assert [each for each in people if TOKEN.concerns(each)] == list(people[:3])
