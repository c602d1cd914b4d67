"""``odradek profile create``: a cluster gets a name, and is used from then on."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from odradek.client.profiles import Profile, ProfileError
from odradek.terminal.parser import Parser, json_argument

from .file import change
from .show import print_profile

if TYPE_CHECKING:
    from odradek.client.profiles import Profiles

_COMMAND = "profile create"
_EXAMPLES = (
    "odradek profile create prod --bootstrap-server kafka-1:9092,kafka-2:9092",
    "odradek profile create dev --bootstrap-server localhost:9092 --registry"
    " http://localhost:8081 --replace",
)


def command(arguments: list[str]) -> int:
    """Give a cluster a name, and use it."""
    parser = Parser(
        _COMMAND,
        "Keep brokers and a registry of schemas under a name, and use them from then"
        " on. Exit code: 0 done, 1 failed, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("name", metavar="NAME")
    parser.add_argument(
        "--bootstrap-server",
        default="",
        metavar="HOST:PORT",
        help="a broker of the cluster, or several with commas",
    )
    parser.add_argument(
        "--registry", default="", metavar="URL", help="the registry of schemas"
    )
    parser.add_argument(
        "--command-config",
        default="",
        metavar="FILE",
        help="the file of client options for TLS and SASL, where passwords stand",
    )
    parser.add_argument(
        "--replace", action="store_true", help="forget what the name meant before"
    )
    json_argument(parser, "one JSON object")
    options = parser.parse(arguments)
    # Here, as everywhere, --color is also for this command.
    color = options.color or ""
    file = options.command_config and os.path.abspath(options.command_config)
    profile = Profile(options.bootstrap_server, options.registry, color, file)
    if not any(profile):
        parser.error(
            "say what to keep: --bootstrap-server, --registry, --command-config or"
            " --color"
        )

    def with_it(profiles: Profiles) -> Profiles:
        if options.name in profiles.known and not options.replace:
            raise ProfileError(
                f"profile {options.name} exists; --replace changes what it says"
            )
        return profiles.with_profile(options.name, profile)

    change(_COMMAND, with_it)
    if options.json:
        print_profile(options.name, profile, is_current=True, is_json=True)
    else:
        print(f"{options.name}: created, and in use")
    return 0
