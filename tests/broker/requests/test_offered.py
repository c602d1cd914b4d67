"""That the page is fresh is among the house rules (``test_tidy``)."""

from odradek.broker import handlers
from odradek.broker.handlers import MODULES, OfferedHandlers
from odradek.broker.requests.offered import OFFERED
from odradek.broker.requests.registry import registered_handlers


def test_every_handler_is_offered_and_found() -> None:
    handlers.load()
    found = OfferedHandlers()
    assert dict(found) == registered_handlers()
    assert len(found) == len(OFFERED)
    assert found.get(max(OFFERED) + 1) is None


def test_the_modules_of_offers_are_those_that_are_loaded() -> None:
    named = {name for offer in OFFERED.values() for name in offer.modules}
    assert named == set(MODULES)
