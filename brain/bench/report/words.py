"""Numbers as people read them."""

from __future__ import annotations


def number(value: float | None, digits: int = 3) -> str:
    """Thousands with commas, small ones to so many significant digits; a dash for none."""
    if value is None or value != value:
        return "–"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    text = f"{value:.{digits}g}"
    return text if "e" not in text else f"{value:.6f}".rstrip("0").rstrip(".")


def change(ratio: float | None) -> str:
    """A ratio as a change: 0.12 is −88 %, 1.56 is +56 %, 4.2 is ×4.2."""
    if ratio is None or ratio != ratio:
        return "–"
    if ratio >= 3:
        return f"×{ratio:.1f}" if ratio < 100 else f"×{ratio:,.0f}"
    percent = 100.0 * (ratio - 1.0)
    if abs(percent) < 0.05:
        return "±0 %"
    return f"{'+' if percent > 0 else '−'}{abs(percent):.{0 if abs(percent) >= 9.95 else 1}f} %"


def megabits(bytes_per_second: float | None) -> str:
    if bytes_per_second is None or bytes_per_second == float("inf"):
        return "unlimited"
    bits = bytes_per_second * 8
    return f"{bits / 1e9:g} Gbit/s" if bits >= 1e9 else f"{bits / 1e6:g} Mbit/s"


def probability(p: float | None) -> str:
    if p is None:
        return "–"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"
