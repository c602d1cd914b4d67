"""The features that we have in a cluster, and those of the cluster that we lack.

A broker is not let in that does not know of every feature that is on at which level it
is. We say it first, of all of them together, with the command that helps.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from odradek.broker.metadata.features import (
    ELR_VERSION,
    GROUP_VERSION,
    KRAFT_VERSION,
    METADATA_LEVEL,
    METADATA_VERSION,
    SHARE_VERSION,
    STREAMS_VERSION,
    TRANSACTION_VERSION,
    SupportedFeature,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from odradek.broker.quorum.image.image import MetadataImage

# 3.7-IV2: directories of partitions are in the metadata log from there on.
_METADATA_LEVEL_MIN: Final = 17

CLAIMED: Final = (
    SupportedFeature(ELR_VERSION, 0, 1),
    SupportedFeature(GROUP_VERSION, 0, 1),
    SupportedFeature(KRAFT_VERSION, 0, 1),
    SupportedFeature(METADATA_VERSION, _METADATA_LEVEL_MIN, METADATA_LEVEL),
    SupportedFeature(SHARE_VERSION, 0, 1),
    SupportedFeature(STREAMS_VERSION, 0, 1),
    SupportedFeature(TRANSACTION_VERSION, 0, 2),
)
"""What the controllers are told; they want all that is on, `kraft.version` too."""


def why_not_of(levels: Mapping[str, int], controller: str) -> str | None:
    """Why this broker does not fit a cluster with these levels; None if it does.

    ``controller`` is the address that the command would be given.
    """
    claimed = {each.name: each for each in CLAIMED}
    misfits: dict[str, str] = {}
    for name, level in sorted(levels.items()):
        known = claimed.get(name)
        if known is None:
            if level:
                misfits[f"{name}=0"] = f"{name} {level}, which is not known here"
        elif level and not known.level_min <= level <= known.level_max:
            wanted = min(max(level, known.level_min), known.level_max)
            misfits[f"{name}={wanted}"] = f"{name} {level}, here {known.levels}"
    if not misfits:
        return None
    which = "; ".join(misfits.values())
    changes = " ".join(f"--feature {change}" for change in misfits)
    return (
        f"the cluster has agreed on levels of features that this broker lacks: {which};"
        f" kafka-features --bootstrap-controller {controller} downgrade {changes} may"
        " change it"
    )


def why_not_in(image: MetadataImage, node_id: int, controller: str) -> str | None:
    """Why this broker fits no cluster of which ``image`` is the state."""
    why_not = why_not_of(
        {**image.features, "kraft.version": image.quorum.kraft_version}, controller
    )
    if why_not is not None:
        return why_not
    voters = {each.voter_id for each in image.quorum.voters}
    if node_id in voters | set(image.controllers):
        return f"node.id {node_id} is that of a controller of the cluster"
    return None
