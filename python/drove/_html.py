"""What a notebook shows: facts as a table, losses as curves."""
from __future__ import annotations

import html
import math

_WIDTH, _HEIGHT, _EDGE = 420, 160, 34
_CURVES = (("loss", "#1f77b4"), ("validation_loss", "#d62728"), ("test_loss", "#2ca02c"))


def _shown(value):
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return None
    return html.escape(f"{value:.4g}" if isinstance(value, float) else str(value))


def page(title, facts, more=""):
    """facts: (name, value) pairs; those whose value is None are left out."""
    rows = "".join(f"<tr><th style='text-align:left'>{html.escape(name)}</th><td style='text-align:left'>{_shown(value)}</td>"
                   "</tr>" for name, value in facts if _shown(value) is not None)
    return f"<div><strong>{html.escape(title)}</strong><table>{rows}</table>{more}</div>"


def curves(history):
    """The losses of a history over its epochs, as SVG; "": fewer than two evaluations."""
    lines = {}
    for name, _ in _CURVES:
        points = [(h["epochs"], h[name]) for h in history if math.isfinite(h.get(name, math.nan)) and "epochs" in h]
        if len(points) > 1:
            lines[name] = points
    if not lines:
        return ""
    every = [point for points in lines.values() for point in points]
    left, right = min(x for x, _ in every), max(x for x, _ in every)
    low, high = min(y for _, y in every), max(y for _, y in every)

    def place(x, y):
        return (f"{_EDGE + (x - left) / ((right - left) or 1) * (_WIDTH - 2 * _EDGE):.1f},"
                f"{_HEIGHT - _EDGE + (low - y) / ((high - low) or 1) * (_HEIGHT - 2 * _EDGE):.1f}")
    drawn, at = [], _EDGE
    for name, colour in _CURVES:
        if name in lines:
            drawn.append(f"<polyline fill='none' stroke='{colour}' stroke-width='1.5' points='"
                         f"{' '.join(place(x, y) for x, y in lines[name])}'/>"
                         f"<text x='{at}' y='14' font-size='11' fill='{colour}'>{name}</text>")
            at += 8 * len(name) + 12
    drawn.append(f"<text x='2' y='{_EDGE + 4}' font-size='10'>{high:.3g}</text>"
                 f"<text x='2' y='{_HEIGHT - _EDGE + 4}' font-size='10'>{low:.3g}</text>"
                 f"<text x='{_EDGE}' y='{_HEIGHT - 14}' font-size='10'>{left:.3g}</text>"
                 f"<text x='{_WIDTH - _EDGE}' y='{_HEIGHT - 14}' font-size='10' text-anchor='end'>{right:.4g} epochs</text>")
    return f"<svg xmlns='http://www.w3.org/2000/svg' width='{_WIDTH}' height='{_HEIGHT}'>{''.join(drawn)}</svg>"
