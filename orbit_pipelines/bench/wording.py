"""Measurements as people read them."""


def seconds_of(seconds: float) -> str:
    """Return seconds with the digits that mean something: ``4 ms``, ``1.25 s``, ``83 s``."""
    if seconds < 0.9995:
        return f"{seconds * 1_000:,.1f} ms" if seconds < 0.00995 else f"{seconds * 1_000:,.0f} ms"
    return f"{seconds:.2f} s" if seconds < 9.995 else f"{seconds:,.1f} s"


def ratio_of(ratio: float | None) -> str:
    """Return a ratio, a dash where there is none."""
    return "–" if ratio is None else f"{ratio:,.1f} ×"


def bytes_of(count: float) -> str:
    """Return bytes in units that leave few digits: ``15 KiB``, ``2.0 MiB``."""
    if count < 2**20:
        return f"{count / 2**10:,.0f} KiB"
    return f"{count / 2**20:,.1f} MiB"
