"""Draws figures over numbers on logarithmic scales, as SVG: the growth of costs."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, HEIGHT = 860, 460
LEFT, TOP, RIGHT, BOTTOM = 60, 20, 380, 40  # the legend stands on the right
LINE, BESIDE = 18, 24
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#17becf", "#7f7f7f")
DASHES = ("", "6 3", "2 3", "8 3 2 3")

Line = Mapping[int, float]  # a figure for each number


def plot(lines: Mapping[str, Line]) -> str:
    """One picture of all ``lines``, with their names beside it."""
    drawn = {name: _positive(line) for name, line in lines.items()}
    drawn = {name: line for name, line in drawn.items() if line}
    across = _Scale(_all_keys(drawn.values()), LEFT, WIDTH - RIGHT)
    height = max(HEIGHT, TOP + BOTTOM + LINE * len(drawn))
    figures = [figure for line in drawn.values() for figure in line.values()]
    up = _Scale(figures, height - BOTTOM, TOP)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
        *_grid(across, up, height),
    ]
    for number, (name, line) in enumerate(drawn.items()):
        colour = COLOURS[number % len(COLOURS)]
        dashes = DASHES[number // len(COLOURS) % len(DASHES)]
        pen = f'stroke="{colour}" stroke-dasharray="{dashes}" stroke-width="2"'
        points = " ".join(
            f"{across.place(key):.1f},{up.place(figure):.1f}"
            for key, figure in sorted(line.items())
        )
        y, x = TOP + LINE * (number + 1), WIDTH - RIGHT + BESIDE
        parts += [
            f'<polyline points="{points}" fill="none" {pen}/>',
            f'<path d="M{x},{y - 4}h{BESIDE}" {pen}/>',
            f'<text x="{x + BESIDE + 6}" y="{y}">{escape(name)}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])


class _Scale:
    """Places of what lies between the powers of ten around ``values``."""

    def __init__(self, values: Iterable[float], first: float, last: float) -> None:
        logs = [log10(each) for each in values] or [0.0]
        self._low = floor(min(logs))
        self._high = max(ceil(max(logs)), self._low + 1)
        self._first, self._last = first, last

    @property
    def powers(self) -> Sequence[int]:
        return range(self._low, self._high + 1)

    def place(self, value: float) -> float:
        share = (log10(value) - self._low) / (self._high - self._low)
        return self._first + share * (self._last - self._first)


def _grid(across: _Scale, up: _Scale, height: int) -> list[str]:
    parts = []
    for power in across.powers:
        x = across.place(10.0**power)
        parts.append(f'<path d="M{x:.1f},{TOP}V{height - BOTTOM}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{x:.1f}" y="{height - BOTTOM + LINE}" text-anchor="middle">'
            f"{_written(power)}</text>"
        )
    for power in up.powers:
        y = up.place(10.0**power)
        parts.append(f'<path d="M{LEFT},{y:.1f}H{WIDTH - RIGHT}" stroke="#ddd"/>')
        parts.append(
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">'
            f"{_written(power)}</text>"
        )
    return parts


def _written(power: int) -> str:
    return f"{10**power:,}" if power >= 0 else f"{10.0**power:g}"


def _positive(line: Line) -> dict[int, float]:
    """A logarithm has no place for 0."""
    return {key: figure for key, figure in line.items() if figure > 0}


def _all_keys(lines: Iterable[Line]) -> list[float]:
    return [float(key) for line in lines for key in line]
