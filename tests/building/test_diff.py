"""The diff as a pure function: it turns what is stored into what is fresh, touches nothing else, whatever the order."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.building.diff import CHUNK_KEYS, PLACE, diff_chunks

SOURCES = st.sampled_from(["s:0", "s:1", "t:0"])
ROWS = st.dictionaries(
    st.tuples(st.sampled_from(["ann", "bob"]), SOURCES, st.integers(0, 2)),
    st.tuples(st.sampled_from([b"h1", b"h2"]), st.sampled_from(["m1", "m2"]), st.sampled_from(["chat", "hook"])),
    max_size=12,
)


def frame(rows: dict[tuple[str, str, int], tuple[bytes, str, str]]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "user_id": user,
                "agent_id": "a",
                "source_key": "k",
                "source_id": source,
                "chunk_index": index,
                "content_hash": digest,
                "model": model,
                "reply_message_ids": [digest.decode()],
                "session_kind": kind,
            }
            for (user, source, index), (digest, model, kind) in rows.items()
        ],
        schema=CHUNK_KEYS,
    )


def keys(rows: pl.DataFrame) -> set[tuple[object, ...]]:
    return set(rows.select(*PLACE, "content_hash", "model").rows())


@given(stored=ROWS, fresh=ROWS)
def test_applying_a_diff_to_what_is_stored_gives_what_is_fresh(
    stored: dict[tuple[str, str, int], tuple[bytes, str, str]],
    fresh: dict[tuple[str, str, int], tuple[bytes, str, str]],
) -> None:
    before, after = frame(stored), frame(fresh)
    diff = diff_chunks(before, after)
    assert (keys(before) - keys(diff.removed)) | keys(diff.inserted) == keys(after)
    assert keys(diff.removed) <= keys(before)
    assert keys(diff.inserted).isdisjoint(keys(before))
    assert diff.unchanged == len(keys(before) & keys(after)) - diff.updated.height


@given(stored=ROWS, fresh=ROWS)
def test_only_rows_described_otherwise_are_updated(
    stored: dict[tuple[str, str, int], tuple[bytes, str, str]],
    fresh: dict[tuple[str, str, int], tuple[bytes, str, str]],
) -> None:
    updated = diff_chunks(frame(stored), frame(fresh)).updated.select("user_id", "source_id", "chunk_index").rows()
    same_text = {place for place in stored.keys() & fresh.keys() if stored[place][:2] == fresh[place][:2]}
    assert set(updated) == {place for place in same_text if stored[place] != fresh[place]}


@given(rows=ROWS, data=st.data())
def test_the_order_of_rows_makes_no_difference(
    rows: dict[tuple[str, str, int], tuple[bytes, str, str]], data: st.DataObject
) -> None:
    shuffled = dict(data.draw(st.permutations(list(rows.items()))))
    diff = diff_chunks(frame(rows), frame(shuffled))
    assert (diff.inserted.height, diff.removed.height, diff.updated.height) == (0, 0, 0)
    assert diff.unchanged == len(rows)
