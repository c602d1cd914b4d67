"""Which of the offsets that batches claim are right, when they contradict each other.

No checksum covers the base offset of a batch. What is known besides: offsets increase,
every batch takes as many as its header says (that is covered), the log begins and ends
at known offsets, and an index entry may name a batch. Each of these is a *claim*. Wrong
are as few of them as possible, and offsets that are skipped for no reason count against
an explanation, too: that is a shortest path, over a few batches at a time.

Where compaction leaves gaps, two neighbours with a flipped bit each may fit in and
outnumber the sound batch that they contradict; elsewhere the gaps beside them tell. So
there the bits that must have flipped are counted, too.

- A claim is accepted unless another explanation is nearly as good, or is by the bits,
  and contradicts it.
- A batch whose claim is wrong gets the offset that its neighbours leave it, if that is
  one alone: then it is determined, and not guessed. Otherwise it gets none.
"""

from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate, pairwise
from typing import NamedTuple

# What a batch or an index entry says, what is known of the end (a batch and another
# one weigh more: a checkpoint may be wrong), and that a batch ends at the boundary.
_WEIGHT, _END_WEIGHT, _BOUNDARY_WEIGHT = 8, 12, 4
# Against an explanation: offsets that nobody has, where compaction leaves them out ...
_GAP_COST = 2
# ... and where not. There a batch behind a gap is believed when others are around it,
# but not when it stands beside what is lost: then it weighs less.
_STRANGE_GAP_COST, _LONELY_WEIGHT = 7, 6
_ACROSS_COST = 2  # of a gap that leaves no batch that ends at the boundary
_MARGIN = 4  # less than that better is no decision
# Of a wrong claim that no one flipped bit explains: as unlikely as two wrong ones.
_FAR_COST = _WEIGHT
_OFFSET_BITS = 64
_UNSIGNED = (1 << _OFFSET_BITS) - 1


class Claim(NamedTuple):
    """The offset that a batch says it begins at; ``length`` offsets are in it.

    ``is_behind_loss`` when bytes before it are lost, with at least one offset.
    ``indexed`` is the base offset that the index has for it.
    """

    base_offset: int
    length: int
    is_behind_loss: bool = False
    indexed: int | None = None


class Bounds(NamedTuple):
    """What is known around some batches.

    They begin at ``start``, or above it if ``is_start_known`` is not set, and end below
    ``limit``. ``end`` is what follows them, if that is known; what comes behind them is
    lost when ``is_end_open``. At ``boundary`` one batch ended.
    ``has_gaps`` where compaction may have left out offsets.
    """

    start: int
    limit: int
    is_start_known: bool = True
    end: int | None = None
    is_end_open: bool = False
    boundary: int | None = None
    has_gaps: bool = False


class _Node(NamedTuple):
    """One claim of the batch at ``place``; the bounds are before and behind them."""

    place: int
    base_offset: int
    next_offset: int
    weight: int


def settle(claims: Sequence[Claim], bounds: Bounds) -> list[int | None]:
    """The base offset of each batch; None where it cannot be told."""
    settlement = _Settlement(claims, bounds)
    return settlement.completed(settlement.certain_path())


def _gap_surplus(claims: Sequence[Claim], bounds: Bounds) -> int:
    """How many gaps there are between neighbours; one back for each contradiction.

    A log whose policy is not to compact may have been compacted before. One wrong
    offset makes a gap on one side, and a contradiction on the other. Where something
    is lost in between there is always a gap, and a contradiction all the same. Several
    that rise make as many gaps and one contradiction; so there are none before a batch
    that begins where it should if nothing was left out.
    """
    surplus = count = 0
    next_offset = bounds.start if bounds.is_start_known else None
    seen = {next_offset: 0}  # surplus by where the first would begin, without gaps
    for base_offset, length, is_behind_loss, indexed in claims:
        count += length
        if is_behind_loss:
            seen.clear()
        if (
            indexed not in (None, base_offset)
            or not bounds.start <= base_offset <= bounds.limit - length
        ):
            next_offset = None  # it says nothing
            continue
        if next_offset is not None:
            gap = base_offset - next_offset - is_behind_loss
            surplus += _surplus(gap, is_behind_loss)
        next_offset = base_offset + length
        surplus = seen.setdefault(next_offset - count, surplus)
    if bounds.end is not None and next_offset is not None:
        surplus += _surplus(bounds.end - next_offset, bounds.is_end_open)
    return surplus


def _surplus(gap: int, is_lost: bool) -> int:
    return (gap > 0 and not is_lost) - (gap < 0)


def _bit_off(claimed: int) -> list[int]:
    """What a claim may have been when at most one of its bits has flipped."""
    claimed &= _UNSIGNED
    return sorted([claimed, *(claimed ^ (1 << bit) for bit in range(_OFFSET_BITS))])


class _Settlement:
    """The claims as nodes of a graph, in the order of the batches."""

    def __init__(self, claims: Sequence[Claim], bounds: Bounds) -> None:
        self._claims = claims
        if not bounds.has_gaps and _gap_surplus(claims, bounds) > 1:
            bounds = bounds._replace(has_gaps=True)
        self._bounds = bounds
        self._gap_cost = _GAP_COST if bounds.has_gaps else _STRANGE_GAP_COST
        self._counts = [0, *accumulate(each.length for each in claims)]
        self._losses = [0, *accumulate(each.is_behind_loss for each in claims)]
        self._nodes = self._all_nodes()

    def _all_nodes(self) -> list[_Node]:
        bounds = self._bounds
        nodes = [_Node(-1, bounds.start, bounds.start, 0)]
        for place, claim in enumerate(self._claims):
            weights = {claim.base_offset: _WEIGHT}
            if claim.indexed is not None:
                weights[claim.indexed] = weights.get(claim.indexed, 0) + _WEIGHT
            for base_offset, weight in weights.items():
                next_offset = base_offset + claim.length
                if self._is_lonely(place):
                    weight -= _WEIGHT - _LONELY_WEIGHT
                if next_offset == bounds.boundary:
                    weight += _BOUNDARY_WEIGHT
                if bounds.start <= base_offset and next_offset <= bounds.limit:
                    nodes.append(_Node(place, base_offset, next_offset, weight))
        if bounds.end is not None:
            end = bounds.end
            nodes.append(_Node(len(self._claims), end, end, _END_WEIGHT))
        return nodes

    def _is_lonely(self, place: int) -> bool:
        """Whether what is before a batch is lost, or what is behind it."""
        bounds, claims = self._bounds, self._claims
        if bounds.has_gaps:
            return False
        if place + 1 == len(claims):
            return claims[place].is_behind_loss or bounds.is_end_open
        behind = claims[place + 1]
        return (
            claims[place].is_behind_loss
            or behind.is_behind_loss
            or not bounds.start <= behind.base_offset <= bounds.limit - behind.length
        )

    def _skipped(self, one: int, other: int) -> tuple[int, bool]:
        """The fewest offsets between two places, and whether there may be more."""
        bounds = self._bounds
        is_end = other == len(self._claims)
        lost = self._losses[other + (not is_end)] - self._losses[one + 1]
        is_open = (
            lost
            or (is_end and bounds.is_end_open)
            or (one < 0 and not bounds.is_start_known)
        )
        return self._counts[other] - self._counts[one + 1] + lost, bool(is_open)

    def _cost(self, one: _Node, other: _Node, far_cost: int = 0) -> int | None:
        """What it costs that ``other`` follows ``one``; None: it cannot."""
        if other.place <= one.place:
            return None
        skipped, is_open = self._skipped(one.place, other.place)
        gap = other.base_offset - one.next_offset - skipped
        if gap < 0:
            return None
        cost = far_cost and far_cost * self._far(one, other)
        if is_open or not gap:
            return cost
        return cost + self._gap_cost + self._is_across(one, other) * _ACROSS_COST

    def _is_across(self, one: _Node, other: _Node) -> bool:
        """Whether no batch can end at the boundary, when ``other`` follows ``one``."""
        boundary = self._bounds.boundary
        return boundary is not None and (
            one.next_offset < boundary < other.base_offset
            or other.base_offset < boundary < other.next_offset
        )

    def certain_path(self) -> list[_Node]:
        """The best explanation, without what another one contradicts that is as good.

        It begins with the start. Bits are counted when a claim is wrong only.
        """
        scores, befores = self._scores_from_start(0)
        number: int | None = scores.index(max(scores))
        path = []
        while number is not None:
            path.append(self._nodes[number])
            number = befores[number]
        path.reverse()
        rivals = self._rivals(0)
        if self._bounds.has_gaps and not self._are_all_in(path):
            rivals += self._rivals(_FAR_COST)
        return [
            node
            for node in path
            if all(node is other or self._agree(node, other) for other in rivals)
        ]

    def _are_all_in(self, path: Sequence[_Node]) -> bool:
        places = {node.place for node in path}
        return places.issuperset(range(len(self._claims)))

    def _rivals(self, far_cost: int) -> list[_Node]:
        """What is in the best explanation, or in one that is nearly as good."""
        ahead, _ = self._scores_from_start(far_cost)
        behind = self._scores_to_end(far_cost)
        return [
            node
            for node, one, other in zip(self._nodes, ahead, behind, strict=True)
            if one + other - node.weight > behind[0] - _MARGIN
        ]

    def _scores_from_start(self, far_cost: int) -> tuple[list[int], list[int | None]]:
        """The best score of a path up to each node, and the node before it there."""
        nodes = self._nodes
        scores = [0]
        befores: list[int | None] = [None]
        for number in range(1, len(nodes)):
            score, came_from = -1 << 30, None
            for other in range(number):
                cost = self._cost(nodes[other], nodes[number], far_cost)
                if cost is not None and scores[other] - cost > score:
                    score, came_from = scores[other] - cost, other
            scores.append(score + nodes[number].weight)
            befores.append(came_from)
        return scores, befores

    def _scores_to_end(self, far_cost: int) -> list[int]:
        """The best score of a path from each node on."""
        nodes = self._nodes
        scores = [node.weight for node in nodes]
        if far_cost:
            scores = [node.weight - far_cost * self._far(node, None) for node in nodes]
        for number in reversed(range(len(nodes))):
            for other in range(number + 1, len(nodes)):
                cost = self._cost(nodes[number], nodes[other], far_cost)
                if cost is not None:
                    score = nodes[number].weight + scores[other] - cost
                    scores[number] = max(scores[number], score)
        return scores

    @cached_property
    def _near(self) -> list[list[int]]:
        return [_bit_off(each.base_offset) for each in self._claims]

    def _far(self, one: _Node, other: _Node | None) -> int:
        """How many claims between two nodes no one flipped bit explains."""
        end, limit = len(self._claims), self._bounds.limit
        if other is not None:
            end, limit = other.place, other.base_offset
        far = 0
        for place in range(one.place + 1, end):
            first = one.next_offset + self._skipped(one.place, place)[0]
            room = self._skipped(place, end)[0] + self._claims[place].length
            near = self._near[place]
            at = bisect_left(near, first)
            far += at == len(near) or near[at] > limit - room
        return far

    def _agree(self, one: _Node, other: _Node) -> bool:
        return self._cost(min(one, other), max(one, other)) is not None

    def completed(self, path: Sequence[_Node]) -> list[int | None]:
        """The offsets of the path, and those that it leaves no choice about."""
        offsets: list[int | None] = [None] * len(self._claims)
        for node in path:
            if 0 <= node.place < len(offsets):
                offsets[node.place] = node.base_offset
        if self._bounds.has_gaps:
            return offsets  # neighbours may fit by chance
        for one, other in pairwise(path):
            skipped, is_open = self._skipped(one.place, other.place)
            if is_open or one.next_offset + skipped != other.base_offset:
                continue
            for place in range(one.place + 1, other.place):
                before = self._counts[place] - self._counts[one.place + 1]
                offsets[place] = one.next_offset + before
        return offsets
