"""A publish in shares of its people does what it does at once, and a share holds as few rows as its people allow."""

from collections.abc import Callable
from itertools import pairwise

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.building import shares
from orbit_pipelines.building.publish import Published
from orbit_pipelines.building.shares import Share, ends_of_shares
from orbit_pipelines.model import Store
from orbit_pipelines.sources.administration import create_plan, set_cap, switch_source
from tests.building.scratch_rebuild import rebuild_from_scratch, stored_chunks
from tests.worlds import World

USERS = ("Zoe", "ann", "ann b", "bob", "été", "\U0001f600")
"""In the order of their bytes, which isn't that of most collations."""

TOLD = (
    "select user_id, source_key, source_id, chunk_index, content, spans, embedding::text from memory.chunk"
    " order by 1, 2, 3, 4",
    "select build.publish_order, user_id, source_key, source_id, chunk_index, action, reason"
    " from memory.change join memory.build using (build_id) order by 1, 2, 3, 4, 5, 6",
    "select user_id, source_key, source_id, reason, since_build_id, until_build_id from memory.skipped"
    " order by 1, 2, 3, 5",
    "select user_id, source_key, status, reason, since_build_id, until_build_id from memory.source_status"
    " order by 1, 2, 5",
    "select user_id, agent_id, model, count(*) from memory.embedding_cache group by 1, 2, 3 order by 1, 2, 3",
)
"""What of two histories must be equal; ids of messages and hashes are each its own."""


@given(st.lists(st.tuples(st.text(min_size=1, max_size=3), st.integers(0, 100_000)), max_size=20))
def test_everybody_is_in_one_share_which_is_no_larger_than_it_must_be(people: list[tuple[str, int]]) -> None:
    weights = pl.DataFrame(people, schema={"user_id": pl.String, "rows": pl.Int64}, orient="row")
    ends = ends_of_shares(weights)
    assert ends == sorted(ends, key=str.encode)
    each = [Share(after, until).of(weights) for after, until in zip([None, *ends], [*ends, None], strict=True)]
    assert sorted(pl.concat(each).rows()) == sorted(people)
    assert all(sum(rows["rows"]) <= shares.MOST_ROWS or rows["user_id"].n_unique() == 1 for rows in each)
    for rows, following in pairwise(each):
        next_one = following.filter(pl.col("user_id") == following["user_id"].min())
        assert sum(rows["rows"]) + sum(next_one["rows"]) > shares.MOST_ROWS


def live(world: World) -> list[Published]:
    """Build again and again while everything that a build looks at changes for many people at once."""
    create_plan(world.connection, "small", title="Small")
    for number, user in enumerate(USERS):
        store = world.account(user, "small" if number % 2 else None)
        for session in ("s", "t"):
            world.say(store, session, "I like jam.", "> So I hear.", f"I am {user}.", "> Hello.", "word " * 100)
        world.record(store, "profile.facts", "name", user)
        world.remember(store, "s", world.say(store, "s", "Not this.", "> No.")[0], remembered=False)
    published = [world.build(full=True)]
    set_cap(world.connection, "small", 1)
    world.sql("delete from orbitpilot.account where user_id = %s", "bob")
    published.append(world.build())
    switch_source(world.connection, "orbitpilot.chat_history", in_rag=False)
    published.append(world.build())
    switch_source(world.connection, "orbitpilot.chat_history", in_rag=True)
    set_cap(world.connection, "small", 3)
    world.sql("delete from orbitpilot.message where user_id = %s and role = 'assistant'", "Zoe")
    published.append(world.build())
    world.say(Store("été"), "new", "Et voilà.", "> Bien.")
    world.sql("delete from orbitpilot.session where session_id = 't' and user_id = %s", "ann b")
    published.append(world.build(full=True))
    return published


def test_a_publish_in_shares_does_what_it_does_at_once(
    new_world: Callable[[], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once, in_shares = new_world(), new_world()
    expected = live(at_once)
    monkeypatch.setattr(shares, "MOST_ROWS", 3)
    assert live(in_shares) == expected
    for query in TOLD:
        assert in_shares.sql(query) == at_once.sql(query)
    assert stored_chunks(in_shares).equals(rebuild_from_scratch(in_shares))


def test_a_publish_has_a_share_for_each_person_whose_rows_fill_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shares, "MOST_ROWS", 3)
    for user in USERS:
        world.say(world.account(user), "s", "I like jam.", "> So I hear.", "And tea.", "> Do you?")
    run = world.run(full=True)
    run.embedding()
    divided = shares.share_out(run.connection, run.workspace, run.extraction())
    assert [share.until for share in divided] == [*USERS[:-1], None]
    for share, user in zip(divided, USERS, strict=True):
        held = [run.workspace.read("pairs", part) for part in share.parts_of(run.workspace, "pairs")]
        assert share.of(pl.concat(held))["user_id"].unique().to_list() == [user]
    run.close()
    run.connection.close()
