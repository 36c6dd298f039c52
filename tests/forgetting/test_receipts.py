import json
from datetime import UTC, datetime
from itertools import permutations
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.errors import ReceiptBroken
from orbit_pipelines.forgetting.receipt_keys import public_hex
from orbit_pipelines.forgetting.receipts import (
    CONTENT,
    Receipt,
    canonical,
    check_receipts,
    check_signature,
    digest_of,
    read_receipt,
    render,
    sign_receipt,
)

KEY = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
OTHER_KEY = Ed25519PrivateKey.from_private_bytes(bytes(32))
AT = datetime(2026, 11, 30, 7, tzinfo=UTC)

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUE = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def content(session: str = "s1") -> dict[str, Any]:
    return {
        "person": {"user_id": "mara"},
        "selected": {"agents": ["orbitpilot"], "sessions": [["orbitpilot", session]]},
        "found": {"chunks": 2},
        "purged": {"chunks": {"count": 2, "ids": [f"{session}:0", f"{session}:1"]}},
        "refused": [],
        "verified": {"chunks": {"found": 0, "depth": "rows deleted"}},
        "physical": None,
        "not_covered": ["backups"],
    }


def chain(length: int, key: Ed25519PrivateKey = KEY) -> list[Receipt]:
    receipts: list[Receipt] = []
    for number in range(1, length + 1):
        previous = receipts[-1].digest if receipts else None
        document = sign_receipt(content(f"s{number}"), number=number, previous=previous, issued_at=AT, key=key)
        receipts.append(read_receipt(render(document), f"receipt {number}"))
    return receipts


def first() -> dict[str, Any]:
    return sign_receipt(content(), number=1, previous=None, issued_at=AT, key=KEY)


def test_a_receipt_is_as_it_was_signed() -> None:
    [receipt] = check_receipts([read_receipt(render(first()), "a")], [public_hex(KEY)])

    assert receipt.number == 1
    assert receipt.body["issued_at"] == "2026-11-30T07:00:00.000000Z"
    assert receipt.digest == digest_of(first())


@given(st.data())
def test_no_changed_byte_of_a_receipt_passes_with_another_content(data: st.DataObject) -> None:
    whole = render(first())
    position = data.draw(st.integers(0, len(whole) - 1))
    changed = bytearray(whole)
    changed[position] ^= data.draw(st.integers(1, 255))

    try:
        receipt = read_receipt(bytes(changed), "a")
        check_signature(receipt)
    except ReceiptBroken:
        return
    # Only the space between tokens can be another.
    assert canonical(receipt.document) == canonical(first())


@given(st.data())
def test_no_receipt_that_is_cut_short_passes(data: st.DataObject) -> None:
    whole = render(first())

    with pytest.raises(ReceiptBroken):
        read_receipt(whole[: data.draw(st.integers(0, len(whole) - 3))], "a")


@given(st.sampled_from(CONTENT), VALUE)
def test_no_field_can_say_something_else(field: str, value: Any) -> None:
    document = first()
    if canonical(document["receipt"][field]) == canonical(value):
        return
    document["receipt"][field] = value

    with pytest.raises(ReceiptBroken, match="was changed"):
        check_signature(read_receipt(render(document), "a"))


@pytest.mark.parametrize("field", [*CONTENT, "number", "previous", "issued_at", "public_key"])
def test_a_field_that_is_missing_is_named(field: str) -> None:
    document = first()
    del document["receipt"][field]

    with pytest.raises(ReceiptBroken, match=rf"lacks a sound .*{field}"):
        read_receipt(render(document), "a")


def test_a_field_that_was_added_breaks_it() -> None:
    document = first()
    document["receipt"]["remark"] = "nothing remains"

    with pytest.raises(ReceiptBroken, match="was changed after it was signed"):
        check_signature(read_receipt(render(document), "a"))


@pytest.mark.parametrize("signature", [None, "", "00" * 63, "zz" * 64, 7])
def test_a_signature_that_is_none_is_named(signature: Any) -> None:
    with pytest.raises(ReceiptBroken, match="lacks a sound signature"):
        read_receipt(render(first() | {"signature": signature}), "a")


def test_another_keys_receipt_is_refused_where_the_key_is_given() -> None:
    receipt = read_receipt(render(sign_receipt(content(), number=1, previous=None, issued_at=AT, key=OTHER_KEY)), "a")
    check_signature(receipt)

    with pytest.raises(ReceiptBroken, match="was signed with another key"):
        check_signature(receipt, [public_hex(KEY)])


def test_a_receipt_that_only_names_the_key_is_refused() -> None:
    document = sign_receipt(content(), number=1, previous=None, issued_at=AT, key=OTHER_KEY)
    document["receipt"]["public_key"] = public_hex(KEY)

    with pytest.raises(ReceiptBroken, match="was changed after it was signed"):
        check_signature(read_receipt(render(document), "a"), [public_hex(KEY)])


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"receipt": 1}',
        b'{"receipt": {"format": "something else"}, "signature": "00"}',
        b"[" * 100_000,
        b'{"receipt": {"format": "orbit_pipelines.receipt/1", "number": 1.5}}',
        b'{"receipt": {"format": "orbit_pipelines.receipt/1", "number": NaN}}',
        b'{"receipt": {"format": "orbit_pipelines.receipt/1", "format": "orbit_pipelines.receipt/1"}}',
        b'{"receipt": {"format": "orbit_pipelines.receipt/1", "person": "\\ud800"}}',
    ],
)
def test_a_file_that_is_no_receipt_is_called_so(data: bytes) -> None:
    with pytest.raises(ReceiptBroken, match="a is no receipt"):
        read_receipt(data, "a")


def test_a_receipt_of_a_later_version_is_called_so() -> None:
    document = first()
    document["receipt"]["format"] = "orbit_pipelines.receipt/2"

    with pytest.raises(ReceiptBroken, match="of another version"):
        read_receipt(json.dumps(document).encode(), "a")


@given(st.integers(1, 4), st.integers(0, 3))
def test_a_chain_is_checked_in_any_order_and_from_anywhere(length: int, start: int) -> None:
    receipts = chain(length)[start:]

    for shuffled in permutations(receipts):
        assert check_receipts(shuffled, [public_hex(KEY)]) == receipts


@given(st.integers(3, 6), st.data())
def test_a_chain_with_a_gap_is_refused(length: int, data: st.DataObject) -> None:
    receipts = chain(length)
    gone = data.draw(st.integers(1, length - 2))

    with pytest.raises(ReceiptBroken, match=rf"number {gone + 1} is missing"):
        check_receipts(receipts[:gone] + receipts[gone + 1 :])


@given(st.integers(2, 5), st.data())
def test_a_receipt_that_was_replaced_breaks_the_chain(length: int, data: st.DataObject) -> None:
    receipts = chain(length)
    at = data.draw(st.integers(0, length - 2))
    old = receipts[at].body
    forged = sign_receipt(content("another"), number=old["number"], previous=old["previous"], issued_at=AT, key=KEY)
    receipts[at] = read_receipt(render(forged), "forged")

    with pytest.raises(ReceiptBroken, match="The chain is broken"):
        check_receipts(receipts)


def test_a_number_that_stands_twice_is_refused() -> None:
    [one] = chain(1)

    with pytest.raises(ReceiptBroken, match="both are number 1"):
        check_receipts([one, one])


def test_a_chain_that_changes_its_key_passes_only_where_both_keys_are_given() -> None:
    [one] = chain(1)
    two = read_receipt(
        render(sign_receipt(content(), number=2, previous=one.digest, issued_at=AT, key=OTHER_KEY)), "two"
    )

    with pytest.raises(ReceiptBroken, match="another key than receipt 1"):
        check_receipts([one, two])
    check_receipts([one, two], [public_hex(KEY), public_hex(OTHER_KEY)])


def test_a_receipt_never_says_that_it_covers_everything() -> None:
    with pytest.raises(ValueError, match="covers everything"):
        sign_receipt(content() | {"not_covered": []}, number=1, previous=None, issued_at=AT, key=KEY)


def test_a_receipt_says_all_there_is_to_say() -> None:
    lacking = content()
    del lacking["refused"]

    with pytest.raises(ValueError, match="a receipt tells"):
        sign_receipt(lacking, number=1, previous=None, issued_at=AT, key=KEY)


@given(VALUE)
def test_a_value_has_one_canonical_form_however_it_was_written(value: Any) -> None:
    reordered = json.loads(json.dumps(value, indent=3, ensure_ascii=True))

    assert canonical(reordered) == canonical(value)
    assert json.loads(canonical(value)) == value
