from pathlib import Path

from odradek.broker.control.requests import WATCHING, control_requests
from tests.broker.control.test_server import ask, steered


async def test_every_subject_answers_and_none_takes_an_operator_s_name(
    tmp_path: Path,
) -> None:
    async with steered(tmp_path) as server:
        requests = control_requests(server)
        assert {"addresses", "topics.create", *WATCHING} <= set(requests)
        operators = super(type(server), server).admin_requests()
        assert not set(requests) & set(operators)
        # What a field is called is checked by each: a misspelt one is refused.
        for name in requests:
            answer = (await ask(tmp_path, name, {"no such field": 1}))[-1]
            assert "error" in answer, name
