import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from orbit_pipelines.building.recalled_blocks import DEEPEST, cut_recalled_blocks
from orbit_pipelines.building.states import pair_states
from orbit_pipelines.history.recalled import BEGIN, END, MARK, wrap
from tests.worlds import World

BLOCK = wrap("LEARNED before.")


def cut(*texts: str | None) -> list[str | None]:
    frame = cut_recalled_blocks(pl.DataFrame({"content": texts}, schema={"content": pl.String}))
    return frame["content"].to_list()


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("no block", "no block"),
        (f"{BLOCK}\n\nWhat now?", "What now?"),
        (f"What now?\n\n{BLOCK}\n", "What now?"),
        (f"Before.\n{BLOCK}\nBetween.\n{BLOCK}\nAfter.", "Before.\n\nBetween.\n\nAfter."),
        (f"{BLOCK}\n{BLOCK}", ""),
        (BLOCK.replace("\n", "\r\n"), ""),
        (
            f"On one line {BLOCK.replace(chr(10), ' ')} as some products put it.",
            "On one line\n\nas some products put it.",
        ),
        (f"Mine.\n{BEGIN}\nLEARNED, and cut short", "Mine."),
        (f"LEARNED, without its head\n{END}\nMine.", "Mine."),
        (f"Mine.\n{BEGIN}\nouter\n{BLOCK}\nouter still\n{END}\nMine too.", "Mine.\n\nMine too."),
        (f"{BEGIN}\nLEARNED\n{BLOCK}\nLEARNED", ""),
        (f"  spaces stay {MARK} where no block is  ", f"  spaces stay {MARK} where no block is  "),
    ],
)
def test_blocks_are_cut_and_what_is_around_them_stays(text: str, left: str) -> None:
    assert cut(text) == [left]


def test_only_the_texts_with_blocks_change_and_rows_keep_their_order() -> None:
    frame = cut_recalled_blocks(pl.DataFrame({"content": [" a ", BLOCK, None, f"b {BLOCK}"]}))
    assert frame["content"].to_list() == [" a ", "", None, "b"]
    assert frame["is_recalled"].to_list() == [False, True, False, True]


pieces = st.sampled_from([BEGIN, END, "own words", "\n", " "])


@given(st.lists(pieces, max_size=12).map("\n".join))
def test_no_marker_is_ever_left_and_nothing_from_inside_a_block(text: str) -> None:
    [left] = cut(text)
    assert left is not None
    assert BEGIN not in left
    assert END not in left
    assert left.count("own words") <= text.count("own words")


@given(st.integers(0, 2 * DEEPEST))
def test_nested_blocks_are_cut_whole_and_too_deep_ones_with_what_is_before_them(depth: int) -> None:
    text = f"Mine.\n{f'{BEGIN} LEARNED '.join([''] * (depth + 1))}{f' LEARNED {END}' * depth}\nMine too."
    [left] = cut(text)
    assert left is not None
    assert "LEARNED" not in left
    assert left.endswith("Mine too.")
    assert left.startswith("Mine.") or depth > DEEPEST


def test_memory_keeps_a_person_s_own_words_alone_and_the_history_everything(world: World) -> None:
    me = world.account("me")
    world.say(
        me,
        "s",
        f"{BLOCK}\n\nShall I buy more?",
        f"> As I remember:\n{BLOCK}\nYes, plum.",
        BLOCK,
        "> Noted.",
        BLOCK,
        f"> {BLOCK}",
    )
    world.build()
    assert world.contents() == {"s:0": "Shall I buy more?\n\nAs I remember:\n\nYes, plum.", "s:1": "Noted."}
    assert world.skips() == {"s:2": "recalled_block"}
    states = pair_states(world.connection, me).select("user_text", "state", "reason").rows()
    assert states == [
        ("Shall I buy more?", "remembered", None),
        ("", "remembered", None),
        ("", "not_remembered", "recalled_block"),
    ]
    assert world.sql("select count(*) from orbitpilot.message where content like '%LEARNED%'") == [(5,)]


def test_memory_learns_no_block_from_a_record_of_any_source(world: World) -> None:
    me = world.account("me")
    for source in ("blink.blinks", "files.documents", "profile.facts"):
        world.record(me, source, f"{source} whole", f"{BLOCK}\nMine.\n{BLOCK}")
        world.record(me, source, f"{source} empty", BLOCK)
        world.record(me, source, f"{source} titled", BLOCK)
        world.sql("update orbitpilot.record set title = 'Plums' where source_id = %s", f"{source} titled")
    world.build()

    assert set(world.contents().values()) == {"Mine.", "Plums"}
    assert len(world.contents()) == 6
    assert list(world.skips().values()) == ["recalled_block"] * 3
    assert world.sql("select count(*) from orbitpilot.record where content like '%LEARNED%'") == [(9,)]
