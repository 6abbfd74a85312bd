"""A verdict in a notebook: the answer, what to paste, and memory over time. Colours suit light and dark."""

from html import escape
from typing import TYPE_CHECKING, Any, Dict, List, Optional

from . import _chart
from ._amounts import size

if TYPE_CHECKING:
    from ._verdict import CallSite, Evidence, Remedy, Verdict

FRAME = (
    "max-width:46em;border:1px solid rgba(128,128,128,.4);border-left:4px solid {colour};"
    "border-radius:4px;padding:.7em 1em;margin:.4em 0;line-height:1.45"
)
PASTE = (
    "margin:.15em 0;padding:.3em .6em;border-radius:3px;background:rgba(128,128,128,.14);"
    "color:inherit;font-family:monospace;white-space:pre-wrap;user-select:all"
)
MUTED = "opacity:.75"
BAD, GOOD = "#d1495b", "#3a8f5c"


def verdict(found: "Verdict") -> str:
    """The whole of it."""
    colour = GOOD if found.cause == "healthy" else BAD
    parts = [
        f'<div style="{FRAME.format(colour=colour)}">',
        f'<div><b>{escape(found.headline)}</b> <span style="{MUTED}">({escape(found.cause)})</span></div>',
        f"<div>{escape(found.because)}</div>",
        *(_call_site(one) for one in found.call_sites),
        *(_remedy(one) for one in found.remedies),
        _over_time(found),
        _evidence(found.evidence),
        "</div>",
    ]
    return "".join(part for part in parts if part)


def _call_site(site: "CallSite") -> str:
    what = f'<span style="{MUTED}">{escape(site.what)}</span>'
    return f"<div><code>{escape(site.call_site)}</code> {what}</div>"


def _remedy(remedy: "Remedy") -> str:
    about = remedy.what
    if remedy.proved:
        about += "; proven on this run"
    if remedy.frees_bytes:
        about += f" [up to {size(remedy.frees_bytes)}]"
    code = remedy.paste or remedy.example
    line = f'<pre style="{PASTE}">{escape(code)}</pre>' if code else ""
    return f'<div style="margin-top:.5em">{line}<span style="{MUTED}">{escape(about)}</span></div>'


def _over_time(found: "Verdict") -> str:
    timeline = _own_timeline(found.json)
    return _chart.memory_over_time(timeline) if timeline else ""


def _own_timeline(document: Dict[str, Any]) -> Optional[Dict[str, Any]]:
    """That of the process and device of the verdict; else the highest."""
    timelines: List[Dict[str, Any]] = document.get("timeline") or []
    own = document["verdict"]

    def rank(one: Dict[str, Any]) -> Any:
        is_own = (one["process"], one["device"]) == (own["process"], own["device"])
        return is_own, max(point["in_use_bytes"] for point in one["points"])

    return max(timelines, key=rank, default=None)


def _evidence(evidence: List["Evidence"]) -> str:
    if not evidence:
        return ""
    cell = "text-align:left;padding:.1em .8em .1em 0"
    rows = (
        f'<tr style="background:none"><td style="{cell}">{escape(one.label)}</td>'
        f'<td style="{cell}">{escape(_value(one))}</td>'
        f'<td style="{cell};{MUTED}">{escape(one.basis)}</td></tr>'
        for one in evidence
    )
    return f'<details style="margin-top:.5em"><summary>Evidence</summary><table style="font-size:inherit">{"".join(rows)}</table></details>'


def _value(evidence: "Evidence") -> str:
    if evidence.unit == "bytes":
        return size(int(evidence.value))
    if evidence.unit == "share":
        return f"{float(evidence.value) * 100:.0f} %"
    return str(evidence.value)
