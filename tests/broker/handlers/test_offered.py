"""That the page is fresh is among the house rules (``test_tidy``)."""

import broker.handlers
from broker.handlers import MODULES, OfferedHandlers
from broker.handlers.offered import OFFERED
from broker.handlers.registry import registered_handlers


def test_every_handler_is_offered_and_found() -> None:
    broker.handlers.load()
    found = OfferedHandlers()
    assert dict(found) == registered_handlers()
    assert len(found) == len(OFFERED)
    assert found.get(max(OFFERED) + 1) is None


def test_the_modules_of_offers_are_those_that_are_loaded() -> None:
    named = {name for offer in OFFERED.values() for name in offer.modules}
    assert named == set(MODULES)
