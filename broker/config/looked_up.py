"""Settings of a broker that stand elsewhere (`client.security.references`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.client.security.references import BadReference, References, is_reference

from .options.error import OptionError
from .secrets import HIDDEN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .settings import Setting


def looked_up(settings: list[Setting], environment: Mapping[str, str]) -> list[Setting]:
    """The settings with what stands elsewhere in its place.

    Raises:
        OptionError: it is not there.
    """
    try:
        options = {each.name: each.text for each in settings}
        references = References(options, environment)
    except BadReference as error:
        raise OptionError(str(error)) from None
    found = []
    for each in settings:
        try:
            text = references.resolved(each.text)
        except BadReference as error:
            raise OptionError(
                f"{each.where}: {each.name}: {error.reference} cannot be looked up: "
                f"{error}"
            ) from None
        is_other = text != each.text
        found.append(each._replace(text=text, written=each.text) if is_other else each)
    return found


def check_sight(name: str, text: str, variable: str) -> None:
    """See that a secret which stands on the command line only says where it is.

    Raises:
        OptionError: it is the secret itself; ``variable`` could hold it instead.
    """
    if not is_reference(text):
        raise OptionError(
            f"-o {name}={HIDDEN}: everybody on this machine sees a command line; put it"
            f" into the file of --config, into the environment ({variable}), or say "
            f"where it is: -o '{name}=${{file:/etc/secrets.properties:key}}'"
        )
