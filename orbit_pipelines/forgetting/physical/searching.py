"""Many needles in many bytes, exactly. Pure."""

from collections.abc import Iterable

import numpy as np

_PROBE = 8
"""Bytes of each needle that are compared at once."""

_TABLE_BITS = 22
_MIX = np.uint64(0x9E3779B97F4A7C15)


class Searcher:
    """Finds which of some byte strings (of ``_PROBE`` bytes or more) stand in blocks of a file.

    The first eight bytes at every position are looked up in a table of those that the needles begin with; only where
    there is one, the whole needle is compared.
    """

    def __init__(self, needles: Iterable[bytes]) -> None:
        self._by_probe: dict[bytes, list[bytes]] = {}
        for needle in set(needles):
            if len(needle) < _PROBE:
                raise ValueError(f"a needle of {len(needle)} bytes; {_PROBE} are needed")
            self._by_probe.setdefault(needle[:_PROBE], []).append(needle)
        self.overlap = max((len(each) for group in self._by_probe.values() for each in group), default=1) - 1
        """How many bytes of a block's end the next one must begin with, so that nothing is missed between them."""
        self._table = np.zeros(1 << _TABLE_BITS, dtype=bool)
        if self._by_probe:
            self._table[_slots(np.frombuffer(b"".join(self._by_probe), dtype="<u8"))] = True

    def find(self, block: bytes) -> set[bytes]:
        """Return the needles that stand in a block."""
        found: set[bytes] = set()
        for shift in range(min(_PROBE, max(0, len(block) - _PROBE + 1))):
            count = (len(block) - shift) // _PROBE
            words = np.frombuffer(block, dtype="<u8", count=count, offset=shift)
            for word in np.flatnonzero(self._table[_slots(words)]).tolist():
                position = shift + word * _PROBE
                for needle in self._by_probe.get(block[position : position + _PROBE], ()):
                    if block.startswith(needle, position):
                        found.add(needle)
        return found


def _slots(words: np.ndarray) -> np.ndarray:
    return (words * _MIX) >> np.uint64(64 - _TABLE_BITS)


def find_in_blocks(searcher: Searcher, blocks: Iterable[bytes]) -> set[bytes]:
    """Return the needles that stand in the blocks of one file, also across the ends of two."""
    found: set[bytes] = set()
    kept = b""
    for block in blocks:
        whole = kept + block
        found |= searcher.find(whole)
        kept = whole[-searcher.overlap :] if searcher.overlap else b""
    return found
