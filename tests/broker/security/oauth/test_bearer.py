import pytest

from odradek.broker.security.login.mechanism import Identity, LoginRefused
from odradek.broker.security.oauth.bearer import STATUS, Bearer, BearerNegotiation
from odradek.broker.security.oauth.token import TokenRefused

ALICE = Identity("User:alice", 7)


class Tokens:
    """Knows one token that is good, and one for which somebody has to be asked."""

    def claimed(self, token: str) -> str:
        return "alice"

    def check(self, token: str) -> object:
        if token == "slow":
            return self._slowly(ALICE)
        if token == "slow.wrong":
            return self._slowly(None)
        if token != "good":
            raise TokenRefused("wrong")
        return ALICE

    async def _slowly(self, identity: Identity | None) -> Identity:
        if identity is None:
            raise TokenRefused("wrong")
        return identity


def negotiation() -> BearerNegotiation:
    return Bearer(Tokens()).begin()  # type: ignore[arg-type]


def message(token: str = "good", header: str = "n,,", more: str = "") -> bytes:
    return f"{header}\1auth=Bearer {token}\1{more}\1".encode()


@pytest.mark.parametrize(
    "text",
    [
        message(),
        message(header="n,a=alice,"),
        message(more="traceId=7\1x=\1"),
        message().replace(b"Bearer ", b"bearer   "),
        b"n,,\1x=y\1auth=BEARER good\1\1",
    ],
    ids=range(5),
)
def test_a_good_token_names_the_user(text: bytes) -> None:
    login = negotiation()
    assert login.step(text) == b""
    assert login.identity == ALICE
    assert login.claimed == "alice"


async def test_somebody_may_have_to_be_asked() -> None:
    login = negotiation()
    waiting = login.step(message("slow"))
    assert not isinstance(waiting, bytes)
    assert await waiting == b""
    assert login.identity == ALICE


@pytest.mark.parametrize("wrong", ["wrong", "slow.wrong"])
@pytest.mark.parametrize("last", [b"\1", b"", message()])
async def test_a_refusal_is_told_in_two_steps(wrong: str, last: bytes) -> None:
    login = negotiation()
    told = login.step(message(wrong))
    assert (told if isinstance(told, bytes) else await told) == STATUS.encode()
    assert login.identity is None
    with pytest.raises(LoginRefused, match="wrong") as refused:
        login.step(last)
    assert refused.value.told == STATUS
    assert login.identity is None


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"\1",
        b"n,,\1\1",
        b"n,,\1auth=Bearer good\1",
        b"n,\1auth=Bearer good\1\1",
        b"y,,\1auth=Bearer good\1\1",
        b"p=tls-unique,,\1auth=Bearer good\1\1",
        message(header="n,a=al=ice,"),
        message(header="n,a=\0,"),
        b"n,a=\xff,\1auth=Bearer good\1\1",
        message("a b"),
        message("gööd"),
        message("a=b"),
        message("g\0ood"),
        b"n,,\1auth=Basic good\1\1",
        b"n,,\1auth=good\1\1",
        message(more="auth=Bearer good\1"),
        message(more="key\1"),
        message(more="k3y=x\1"),
        message() + b"x",
        b"x" * 60_000,
        b"n,,\1" + b"a=\1" * 20_000,
    ],
    ids=range(22),
)
def test_what_is_no_message_is_refused_at_once(text: bytes) -> None:
    with pytest.raises(LoginRefused):
        negotiation().step(text)


def test_nobody_acts_for_somebody_else() -> None:
    with pytest.raises(LoginRefused) as refused:
        negotiation().step(message(header="n,a=bo=2Cb,"))
    assert "authorization id (bo,b)" in refused.value.told
    assert "principal name (alice)" in refused.value.told


def test_it_is_closed_with_what_it_has() -> None:
    closed: list[int] = []
    Bearer(Tokens(), lambda: closed.append(1)).close()  # type: ignore[arg-type]
    Bearer(Tokens()).close()  # type: ignore[arg-type]
    assert closed == [1]
