from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from orbit_pipelines.history.formats.branches import UNSAID, climb, link, newest_leaf

keys = st.sampled_from("abcdefgh")


def at(minute: int) -> datetime:
    return datetime(2025, 1, 1, 12, minute, tzinfo=UTC)


def test_a_branch_runs_from_the_root_to_its_leaf() -> None:
    assert climb({"a": None, "b": "a", "c": "b", "other": "a"}, "c") == (["a", "b", "c"], False)


def test_a_cycle_is_cut_where_it_closes() -> None:
    assert climb({"a": "c", "b": "a", "c": "b"}, "c") == (["a", "b", "c"], True)
    assert climb({"a": "a"}, "a") == (["a"], True)


def test_the_newest_leaf_is_the_one_written_to_last_and_the_last_among_equals() -> None:
    parents = {"root": None, "old": "root", "new": "root", "same": "root"}
    times = {"root": at(0), "old": at(1), "new": at(5), "same": at(5)}
    assert newest_leaf(parents, times.get) == "same"
    assert newest_leaf(parents, lambda _: None) == "same"


def test_a_leaf_without_a_time_has_its_nearest_ancestors() -> None:
    parents = {"root": None, "late": "root", "under-late": "late", "early": "root"}
    times = {"root": at(0), "late": at(9), "early": at(3)}
    assert newest_leaf(parents, times.get) == "under-late"


def test_only_candidates_can_be_leaves_and_only_candidates_below_keep_one_from_being_a_leaf() -> None:
    parents = {"user": None, "hidden": "user", "reply": "hidden", "error": "reply"}
    assert newest_leaf(parents, lambda _: None, ["user", "reply"]) == "reply"
    assert newest_leaf(parents, lambda _: None, []) is None


def test_a_tree_of_nothing_but_cycles_still_has_a_newest_node() -> None:
    assert newest_leaf({"a": "b", "b": "a"}, {"a": at(1)}.get) is not None


@pytest.mark.parametrize(
    ("entries", "parents", "missing"),
    [
        ([("a", None), ("b", "a"), ("c", "a")], {"a": None, "b": "a", "c": "a"}, ""),
        ([("a", None), ("b", "a"), ("c", UNSAID)], {"a": None, "b": "a", "c": "b"}, ""),
        ([("a", None), ("b", "a"), ("d", "lost"), ("e", "d")], {"a": None, "b": "a", "d": "b", "e": "d"}, "d"),
        ([("a", None), ("b", "a"), ("d", "lost"), ("e", "lost")], {"a": None, "b": "a", "d": "b", "e": "b"}, "de"),
        ([("c", "cut off"), ("d", "c"), ("e", "cut off")], {"c": None, "d": "c", "e": None}, "e"),
        ([("a", UNSAID), ("b", UNSAID)], {"a": None, "b": "a"}, ""),
        ([("a", None), ("b", UNSAID), ("c", None), ("d", UNSAID)], {"a": None, "b": "a", "c": "b", "d": "c"}, ""),
        ([("a", None), ("b", None)], {"a": None, "b": None}, ""),
        ([("a", None), ("b", "a"), ("a", "b")], {"a": None, "b": "a"}, ""),
    ],
    ids=["tree", "unsaid", "lost line", "lost parent of two", "cut head", "no links", "roots only", "edits", "again"],
)
def test_links_follow_names_and_else_the_order(
    entries: list[tuple[str, str | None]], parents: dict[str, str | None], missing: str
) -> None:
    assert link(entries) == (parents, frozenset(missing))


@given(st.lists(st.tuples(keys, st.none() | st.just(UNSAID) | keys | st.just("lost"))))
@settings(deadline=None)
def test_any_links_give_a_tree_that_can_be_climbed_from_anywhere(entries: list[tuple[str, str | None]]) -> None:
    parents, _ = link(entries)
    assert list(parents) == list(dict.fromkeys(key for key, _ in entries))
    for key in parents:
        branch, _ = climb(parents, key)
        assert branch[-1] == key
        assert len(branch) == len(set(branch))
    leaf = newest_leaf(parents, lambda key: at(ord(key) % 3) if key in "aceg" else None)
    assert (leaf is None) == (not parents)
