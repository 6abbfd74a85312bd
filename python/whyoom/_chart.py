"""Memory over time as a small picture (SVG) that stands in a page."""

from typing import Any, Dict, List, Tuple

from ._amounts import duration, size

WIDTH, HEIGHT = 640, 150
# Of the plot, inside the picture.
LEFT, RIGHT, TOP, BOTTOM = 74, 632, 12, 112
# Fewer points make no picture.
FEWEST = 3

Point = Tuple[float, float]


def memory_over_time(timeline: Dict[str, Any]) -> str:
    """The picture; nothing where there is too little to see."""
    points: List[Dict[str, int]] = timeline["points"]
    top = max((max(p["in_use_bytes"], p["reserved_bytes"]) for p in points), default=0)
    if len(points) < FEWEST or top == 0:
        return ""
    start = points[0]["time_ns"]
    failures = [time for time in timeline["failures_ns"] if time >= start]
    # An instant that has no length of its own still gets a picture.
    length = max(points[-1]["time_ns"] - start, max(failures, default=start) - start, 1)

    def across(time: int) -> float:
        return LEFT + (RIGHT - LEFT) * (time - start) / length

    def area(figure: str) -> str:
        return _area([(across(p["time_ns"]), BOTTOM - (BOTTOM - TOP) * p[figure] / top) for p in points])

    parts = [
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="memory over time" '
        'style="width:100%;max-width:640px;display:block;margin-top:.6em;font:11px sans-serif" fill="currentColor">',
        f'<path d="{area("reserved_bytes")}" fill="#8a8f98" fill-opacity=".35"/>',
        f'<path d="{area("in_use_bytes")}" fill="#3b7dd8" fill-opacity=".85"/>',
        f'<path d="M{LEFT} {BOTTOM}H{RIGHT}" stroke="currentColor" stroke-opacity=".4" fill="none"/>',
        *(_failure(across(time)) for time in failures[-1:]),
        _label(LEFT - 6, TOP + 8, "end", size(top)),
        _label(LEFT - 6, BOTTOM, "end", size(0)),
        _label(LEFT, BOTTOM + 14, "start", "0 s"),
        _label(RIGHT, BOTTOM + 14, "end", duration(length)),
        _legend(bool(failures)),
        "</svg>",
    ]
    return "".join(parts)


def _area(points: List[Point]) -> str:
    """Steps, as an allocator's figures have: each lasts until the next."""
    path = [f"M{points[0][0]:.1f} {BOTTOM}V{points[0][1]:.1f}"]
    path += [f"H{x:.1f}V{y:.1f}" for x, y in points[1:]]
    return "".join(path) + f"H{RIGHT}V{BOTTOM}Z"


def _failure(x: float) -> str:
    return f'<path d="M{min(x, RIGHT - 1):.1f} {TOP}V{BOTTOM}" stroke="#d1495b" stroke-width="2" fill="none"/>'


def _label(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" opacity=".8">{text}</text>'


def _legend(failed: bool) -> str:
    entries = [("#3b7dd8", ".85", "in use"), ("#8a8f98", ".35", "reserved")]
    if failed:
        entries.append(("#d1495b", "1", "out of memory"))
    parts, x = [], LEFT
    for colour, opacity, text in entries:
        parts.append(f'<rect x="{x}" y="{HEIGHT - 12}" width="10" height="10" fill="{colour}" fill-opacity="{opacity}"/>')
        parts.append(_label(x + 15, HEIGHT - 3, "start", text))
        x += 90
    return "".join(parts)
