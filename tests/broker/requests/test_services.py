from odradek.broker.node.parts import Parts
from odradek.broker.requests.services import Services


def test_the_parts_of_a_broker_are_what_handlers_know() -> None:
    known = {*Services.__annotations__}
    known |= {name for name, it in vars(Services).items() if isinstance(it, property)}
    assert len(known) > 20
    assert known <= {*Parts.__annotations__, *dir(Parts)}
