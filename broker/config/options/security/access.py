"""The options of who may do what."""

from dataclasses import dataclass

from odradek.broker.config.options.option import Kind, option

# By either of these names it is the same one: ours.
AUTHORIZERS = ("acl", "org.apache.kafka.metadata.authorizer.StandardAuthorizer")
_SEPARATOR = ";"


def _authorizer(text: str) -> str:
    if text and text not in AUTHORIZERS:
        raise ValueError(f"Classes of Java are not loaded; use {AUTHORIZERS[0]}")
    return text


class Principals(frozenset[str]):
    """Principals as an option has them."""

    def __str__(self) -> str:
        """Separated as Kafka does it: names may have commas."""
        return _SEPARATOR.join(sorted(self))


def read_principals(text: str) -> Principals:
    """The principals that ``text`` names.

    Raises:
        ValueError: one of them is none.
    """
    found = [part.strip() for part in text.split(_SEPARATOR) if part.strip()]
    for each in found:
        if not each.partition(":")[2]:
            raise ValueError(f"{each} is no principal: it would be User:{each}")
        if ",User:" in each.replace(" ", ""):
            raise ValueError(
                f"{each} would be one user; between users stands {_SEPARATOR}, as names"
                " may have commas"
            )
    return Principals(found)


@dataclass(frozen=True, init=False, repr=False, eq=False)
class AccessOptions:
    """Whether access control lists decide, and for whom they do not."""

    authorizer_class_name: str = option(
        "",
        "authorizer.class.name",
        "Who decides what clients may do: acl, or by Kafka's name for it "
        f"{AUTHORIZERS[1]}: access control lists. Empty: who is in may do everything.",
        read=_authorizer,
    )
    super_users: Principals = option(  # noqa: RUF009 - as all fields
        Principals(),
        "super.users",
        "Who may do everything whatever the lists say, as User:NAME;User:NAME.",
        kind=Kind.STRING,
        read=read_principals,
    )
    allow_everyone_if_no_acl_found: bool = option(
        False,
        "allow.everyone.if.no.acl.found",
        "Whether everybody may do everything to what no entry of anybody touches.",
    )
