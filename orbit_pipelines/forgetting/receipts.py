"""Receipts of forgets: canonical JSON, each chained to the one before by its digest, and signed. Pure.

A receipt is a file of its own: ``{"receipt": {…}, "signature": "…"}``. Signed (Ed25519), and named by the next one's
``previous``, is the canonical form of the inner object: UTF-8, keys sorted, no space between tokens. For what stands in
a receipt (no fractions, keys in ASCII) that is RFC 8785's, so that another program can check it.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from itertools import pairwise
from typing import Any

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from orbit_pipelines.errors import ReceiptBroken
from orbit_pipelines.forgetting.kinds import Depth

FORMAT = "orbit_pipelines.receipt/1"
CONTENT = ("person", "selected", "found", "purged", "refused", "verified", "physical", "not_covered")
"""What a receipt tells, beside its place in the chain."""

_FIELDS = ("format", "number", "previous", "issued_at", "public_key", *CONTENT)
_DIGEST = re.compile(r"[0-9a-f]{64}")
_SIGNATURE = re.compile(r"[0-9a-f]{128}")

Document = Mapping[str, Any]
"""A receipt with its signature, as its file holds it."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """A receipt that was read and has its form; its signature isn't checked by that."""

    name: str
    document: Document

    @property
    def body(self) -> Mapping[str, Any]:
        """What is signed."""
        body: Mapping[str, Any] = self.document["receipt"]
        return body

    @property
    def number(self) -> int:
        """Its place in the chain, from 1."""
        return int(self.body["number"])

    @property
    def public_key(self) -> str:
        """The key it says it was signed with, in hex."""
        return str(self.body["public_key"])

    @property
    def digest(self) -> str:
        """What the next receipt calls it by."""
        return digest_of(self.document)


def canonical(value: Any) -> bytes:
    """Return the one form in which a value is signed.

    Raises:
        ValueError: it holds a fraction, or text that is no Unicode.
    """
    _refuse_fractions(value)
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False).encode()


def digest_of(document: Document) -> str:
    """Return the SHA-256 of what is signed, in hex."""
    return sha256(canonical(document["receipt"])).hexdigest()


def sign_receipt(
    content: Mapping[str, Any], *, number: int, previous: str | None, issued_at: datetime, key: Ed25519PrivateKey
) -> dict[str, Any]:
    """Return the document of a receipt.

    Args:
        content: the fields of ``CONTENT``.
        number: one more than that of the receipt before.
        previous: that one's digest; None for the first.
        issued_at: with its offset.
        key: who signs.

    Raises:
        ValueError: a field is missing or unknown, or nothing is said of what isn't covered.
    """
    if content.keys() != set(CONTENT):
        raise ValueError(f"a receipt tells {', '.join(CONTENT)}; got {', '.join(sorted(content))}")
    if not content["not_covered"]:
        raise ValueError("a receipt that covers everything doesn't exist")
    body = {
        "format": FORMAT,
        "number": number,
        "previous": previous,
        "issued_at": issued_at.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "public_key": key.public_key().public_bytes_raw().hex(),
        **content,
    }
    return {"receipt": body, "signature": key.sign(canonical(body)).hex()}


def render(document: Document) -> bytes:
    """Return what a receipt's file holds: the document in a form that people can read."""
    return (json.dumps(document, ensure_ascii=False, sort_keys=True, indent=2) + "\n").encode()


def read_receipt(data: bytes, name: str) -> Receipt:
    """Return the receipt in a file's bytes.

    Args:
        data: the file.
        name: how messages call it.

    Raises:
        ReceiptBroken: it is no receipt, or lacks what every receipt has.
    """
    try:
        document = json.loads(data, object_pairs_hook=_without_repetition, parse_constant=_refuse_constant)
        is_object = isinstance(document, dict) and isinstance(document.get("receipt"), dict)
        if is_object:
            canonical(document)
    except (ValueError, RecursionError):
        is_object = False
    if not is_object or not str(document["receipt"].get("format", "")).startswith("orbit_pipelines.receipt/"):
        raise ReceiptBroken(f"{name} is no receipt. Receipts lie in ORBIT_HOME/receipts; see: orbit receipt show")
    return as_receipt(document, name)


def as_receipt(document: Document, name: str) -> Receipt:
    """Return a document as the receipt it is.

    Raises:
        ReceiptBroken: it lacks what every receipt has.
    """
    body = document["receipt"]
    if body.get("format") != FORMAT:
        raise ReceiptBroken(
            f"{name} is a receipt of another version ({body.get('format')}); this program knows {FORMAT}. Check it "
            "with the program that made it."
        )
    wrong = [field for field in _FIELDS if not _is_well_formed(field, body)]
    if document.keys() != {"receipt", "signature"} or not _matches(_SIGNATURE, document.get("signature")):
        wrong.append("signature")
    if wrong:
        raise ReceiptBroken(f"{name} was changed, or not written to its end: it lacks a sound {', '.join(wrong)}.")
    return Receipt(name, document)


def check_signature(receipt: Receipt, trusted: Iterable[str] = ()) -> None:
    """Check that a receipt is what its signer signed.

    Args:
        receipt: the receipt.
        trusted: the public keys it may be signed with, in hex; none takes the one that the receipt names, which shows
            that nobody changed it by accident, and not who made it.

    Raises:
        ReceiptBroken: it was changed, or somebody else signed it.
    """
    keys = set(trusted)
    if keys and receipt.public_key not in keys:
        raise ReceiptBroken(
            f"{receipt.name} was signed with another key: {receipt.public_key[:16]}…, not "
            f"{' or '.join(f'{key[:16]}…' for key in sorted(keys))}. Either it is of another installation, or somebody "
            "made it up."
        )
    try:
        public = Ed25519PublicKey.from_public_bytes(bytes.fromhex(receipt.public_key))
        public.verify(bytes.fromhex(receipt.document["signature"]), canonical(receipt.body))
    except (InvalidSignature, ValueError):
        raise ReceiptBroken(
            f"{receipt.name} was changed after it was signed: the signature is not of this content. Take the original "
            "from the database: orbit receipt show NUMBER --json"
        ) from None


def check_chain(receipts: Sequence[Receipt]) -> None:
    """Check that receipts follow one another without a gap, and without a change of the key.

    Args:
        receipts: sorted by number; their signatures are checked.

    Raises:
        ReceiptBroken: they are of several chains, one is missing, or not the one that the next was made after.
    """
    _require_one_chain(receipts)
    for before, after in pairwise(receipts):
        if after.number != before.number + 1:
            missing = (
                f"{before.number + 1}"
                if after.number == before.number + 2
                else (f"{before.number + 1} to {after.number - 1}")
            )
            raise ReceiptBroken(
                f"The chain has a gap: between {before.name} and {after.name}, number {missing} is missing. Give that "
                "one too: orbit receipt show NUMBER --json"
            )
        if after.body["previous"] != before.digest:
            raise ReceiptBroken(
                f"The chain is broken: {after.name} was made after another number {before.number} than {before.name}. "
                "One of the two was replaced."
            )


def _require_one_chain(receipts: Sequence[Receipt]) -> None:
    by_number: dict[int, dict[str, Receipt]] = {}
    for receipt in receipts:
        known = by_number.setdefault(receipt.number, {})
        if same := known.get(receipt.digest):
            raise ReceiptBroken(
                f"{same.name} and {receipt.name} both are number {receipt.number}, the same receipt: give one of them."
            )
        known[receipt.digest] = receipt
    parted = next((number for number, several in by_number.items() if len(several) > 1), None)
    if parted is None:
        return
    # One whose forerunner isn't among them is of a chain that only its own signature tells.
    chains = {digest: [receipt] for digest, receipt in by_number[parted].items()}
    chain_of = {digest: digest for digest in chains}
    for receipt in receipts:
        if receipt.number > parted:
            chain = chain_of[receipt.digest] = chain_of.get(str(receipt.body["previous"]), receipt.digest)
            chains.setdefault(chain, []).append(receipt)
    told = "; ".join(", ".join(receipt.name for receipt in chain) for chain in chains.values())
    since = f"parting after number {parted - 1}" if parted > 1 else "from the first number on"
    raise ReceiptBroken(
        f"These are receipts of {len(chains)} chains, {since}: {told}. Each is as it was signed. After an older "
        "database was restored, new receipts take the numbers of those that came after it; if none was, one of the "
        "chains was made up. Check each by itself: give its files alone, with those before they part."
    )


def check_receipts(receipts: Iterable[Receipt], trusted: Iterable[str] = ()) -> list[Receipt]:
    """Check signatures and chain; return the receipts by number.

    Raises:
        ReceiptBroken: the first thing that is wrong.
    """
    keys = frozenset(trusted)
    ordered = sorted(receipts, key=lambda receipt: receipt.number)
    for receipt in ordered:
        check_signature(receipt, keys)
    check_chain(ordered)
    for before, after in pairwise(ordered):
        if not keys and before.public_key != after.public_key:
            raise ReceiptBroken(
                f"{after.name} was signed with another key than {before.name}. If the installation's key was replaced, "
                "name both with --public-key; else the later ones were made up."
            )
    return ordered


def depths_of(receipt: Receipt) -> dict[str, str]:
    """Return how deep each kind is gone that the forget took something of; nothing when it took nothing.

    Not of roads, which go only as far as they look; one of them, the fence, hides without deleting.
    """
    verified, purged = receipt.body["verified"], receipt.body["purged"]
    return {
        name: str(verified[name].get("depth")) for name, each in purged.items() if each["count"] and name in verified
    }


def least_depth(receipt: Receipt) -> str:
    """Return how deep everything that the forget took is gone at least; empty when it took nothing."""
    depths = set(depths_of(receipt).values())
    return next((depth.value for depth in Depth if depth.value in depths), "")


def _is_well_formed(field: str, body: Mapping[str, Any]) -> bool:
    value = body.get(field)
    match field:
        case "number":
            return isinstance(value, int) and not isinstance(value, bool) and value > 0
        case "previous":
            return field in body and (_matches(_DIGEST, value) if body.get("number") != 1 else value is None)
        case "public_key":
            return _matches(_DIGEST, value)
        case "format" | "issued_at":
            return isinstance(value, str)
        case "not_covered":
            return isinstance(value, list) and bool(value)
        case "refused":
            return isinstance(value, list)
        case "physical":
            return field in body and (value is None or isinstance(value, dict))
        case _:
            return isinstance(value, dict)


def _matches(pattern: re.Pattern[str], value: Any) -> bool:
    return isinstance(value, str) and pattern.fullmatch(value) is not None


def _refuse_fractions(value: Any) -> None:
    if isinstance(value, float):
        raise ValueError("a receipt holds no fractions: programs write them differently")
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ():
        _refuse_fractions(each)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object; of a key that stands twice, programs read different ones."""
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice")
    return made
