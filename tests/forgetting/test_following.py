"""Sessions and accounts that were renamed or moved: a forget takes what memory has under their former names."""

import pytest

from orbit_pipelines.forgetting.admission import Rule, RuleKind, add_rules
from orbit_pipelines.forgetting.failures import ForgetFailed
from orbit_pipelines.model import Store
from orbit_pipelines.sources.records import put_record
from tests.forgetting.forgetful import ME, counts, forget_in, talk
from tests.worlds import World

MOVES = {
    "session renamed": ("update orbitpilot.session set session_id = 'new' where session_id = 's1'", "me", None, "new"),
    "agent changed": ("update orbitpilot.session set agent_id = 'other' where session_id = 's1'", "me", "other", "s1"),
    "person changed": ("update orbitpilot.session set user_id = 'you' where session_id = 's1'", "you", None, "s1"),
    "account renamed": ("update orbitpilot.account set user_id = 'mine' where user_id = 'me'", "mine", None, "s1"),
}
STAYS = {"s2:0", "s2:1", "s3:0", "s3:1"}


@pytest.fixture
def told(world: World) -> World:
    """Three sessions and a blink caught from the first, built; and somebody else."""
    talk(world)
    put_record(world.connection, ME, "blink.blinks", "b", "Tea it is, again.", origin_session_id="s1")
    world.build()
    world.account("you")
    return world


@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize("how", MOVES)
def test_a_forget_takes_what_memory_has_under_a_former_name(told: World, how: str, is_built: bool) -> None:
    move, user, agent, session = MOVES[how]
    told.sql(move)
    if is_built:
        told.build()
    preview = forget_in(told, user, agent_id=agent, sessions=(session,), dry_run=True)
    report = forget_in(told, user, agent_id=agent, sessions=(session,))
    assert (preview.digest, report.is_verified) == (report.digest, True)
    assert not {source for source in told.contents() if source.startswith((f"{session}:", "s1:"))}
    assert told.sql(
        "select count(*) from memory.change where content_hash is not null and source_id ~ '^(s1|new):'"
    ) == [(0,)]
    assert set(counts(forget_in(told, user, agent_id=agent, sessions=(session,)))) <= {"embedding_cache"}
    told.build()
    assert set(told.contents()) - {"b"} == STAYS


@pytest.mark.parametrize("is_built", [False, True])
def test_a_renamed_account_is_taken_whole_under_both_names(told: World, is_built: bool) -> None:
    told.sql("update orbitpilot.account set user_id = 'mine' where user_id = 'me'")
    if is_built:
        told.build()
    assert forget_in(told, "mine", account=True).is_verified
    assert told.contents() == {}
    assert told.sql("select count(*) from memory.change") == [(0,)]
    assert told.sql("select count(*) from memory.embedding_cache") == [(0,)]
    told.build()
    assert told.contents() == {}


def test_a_name_that_another_session_has_now_is_not_its_former_ones(told: World) -> None:
    told.sql("update orbitpilot.session set session_id = 'new' where session_id = 's1'")
    told.say(ME, "s1", "Another talk of the same name.", "> Yes.")
    with pytest.raises(ForgetFailed, match="orbit build"):
        forget_in(told, sessions=("new",))
    assert told.sql("select count(*) from memory.tombstone") == [(0,)]
    told.build()
    forget_in(told, sessions=("new",))
    told.build()
    assert {"s1:0"} <= set(told.contents())
    assert not {source for source in told.contents() if source.startswith("new:")}


@pytest.mark.parametrize("how", MOVES)
def test_what_memory_had_covered_stays_covered_after_a_move(told: World, how: str) -> None:
    move, user, agent, session = MOVES[how]
    told.sql(move)
    told.sql("update orbitpilot.session set channel = 'slack' where session_id = any(array['s1', 'new'])")
    add_rules(told.connection, [Rule(RuleKind.CHANNEL, "slack")])
    told.say(Store(user, agent or "orbitpilot"), session, "Said after the rule.", "> Is it?")
    for full in (False, True):
        told.build(full=full)
        assert {f"{session}:0", f"{session}:1"} <= set(told.contents())
        assert told.skips()[f"{session}:2"] == "not_admitted"
