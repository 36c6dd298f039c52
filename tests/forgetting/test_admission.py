import pytest

from orbit_pipelines.errors import UnknownAccount, UsageError
from orbit_pipelines.forgetting.admission import (
    SESSION_KINDS,
    Rule,
    RuleKind,
    add_rules,
    describe,
    list_rules,
    remove_rules,
)
from orbit_pipelines.model import Store
from tests.worlds import World

ME = Store("me")
CHANNEL = Rule(RuleKind.CHANNEL, "slack")


def session(world: World, session_id: str, /, store: Store = ME, **said: str) -> None:
    """Begin a session that says something of itself, with one pair."""
    world.say(store, session_id, f"Of {session_id}.")
    for name, value in said.items():
        if name == "participant":
            world.sql(
                "insert into orbitpilot.session_participant values (%s, %s, %s, %s)",
                store.user_id,
                store.agent_id,
                session_id,
                value,
            )
        else:
            world.sql(
                f"update orbitpilot.session set {name} = %s where (user_id, agent_id, session_id) = (%s, %s, %s)",
                value,
                store.user_id,
                store.agent_id,
                session_id,
            )


def kept_out(world: World) -> set[str]:
    return {source for source, reason in world.skips().items() if reason == "not_admitted"}


@pytest.fixture
def mine(world: World) -> World:
    """A world with one account."""
    world.account("me")
    return world


@pytest.mark.parametrize("kind", list(RuleKind))
def test_a_rule_matches_exactly_but_for_blanks_around(mine: World, kind: RuleKind) -> None:
    values = {
        "equal": "Slack",
        "blanks": " \tSlack\n",
        "lower": "slack",
        "longer": "Slack2",
        "shorter": "Slac",
        "inside": "S lack",
        "empty": "",
    }
    for session_id, value in values.items():
        session(mine, session_id, ME, **{kind.value: value})
    session(mine, "silent")

    add_rules(mine.connection, [Rule(kind, " Slack ")])
    mine.build()

    assert kept_out(mine) == {"equal:0", "blanks:0"}
    assert [rule.sessions for rule in list_rules(mine.connection)] == [2]


def test_several_rules_are_alternatives_and_each_looks_at_its_own_field(mine: World) -> None:
    session(mine, "a", channel="slack")
    session(mine, "b", participant="U1")
    session(mine, "c", chat_type="slack", hook_source="U1")

    add_rules(mine.connection, [CHANNEL, Rule(RuleKind.PARTICIPANT, "U1")])
    mine.build()

    assert kept_out(mine) == {"a:0", "b:0"}


def test_a_rule_is_for_everyone_one_person_one_agent_or_both(mine: World) -> None:
    mine.account("you")
    stores = {"m": ME, "mx": Store("me", "x"), "y": Store("you"), "yx": Store("you", "x")}
    for session_id, store in stores.items():
        session(mine, session_id, store, channel="slack")
    cases = {
        Rule(RuleKind.CHANNEL, "slack"): {"m:0", "mx:0", "y:0", "yx:0"},
        Rule(RuleKind.CHANNEL, "slack", "me"): {"m:0", "mx:0"},
        Rule(RuleKind.CHANNEL, "slack", None, "x"): {"mx:0", "yx:0"},
        Rule(RuleKind.CHANNEL, "slack", "me", "x"): {"mx:0"},
    }
    for rule, expected in cases.items():
        add_rules(mine.connection, [rule])
        # Nothing has been covered without a rule: each of them meets the sessions as new.
        mine.sql("delete from memory.change")
        mine.sql("delete from memory.skipped")
        mine.sql("delete from memory.session_admission")
        mine.build(full=True)
        assert kept_out(mine) == expected
        remove_rules(mine.connection, [rule])


def test_a_rule_that_is_in_force_stays_as_it_is_and_one_that_is_not_cant_be_removed(mine: World) -> None:
    assert add_rules(mine.connection, [CHANNEL, Rule(RuleKind.CHANNEL, " slack ")]) == 1
    assert add_rules(mine.connection, [CHANNEL]) == 0
    [rule] = list_rules(mine.connection)
    assert (rule.kind, rule.value, rule.user_id, rule.agent_id) == ("channel", "slack", None, None)

    with pytest.raises(UsageError, match=r"channel 'slack' of me"):
        remove_rules(mine.connection, [CHANNEL, Rule(RuleKind.CHANNEL, "slack", "me")])
    with pytest.raises(UsageError, match="no rule 99"):
        remove_rules(mine.connection, [], [rule.rule_id, 99])
    assert list_rules(mine.connection) == [rule]

    assert remove_rules(mine.connection, [], [rule.rule_id]) == 1
    assert list_rules(mine.connection) == []
    assert add_rules(mine.connection, [CHANNEL]) == 1


def test_a_rule_on_a_kind_that_no_session_can_have_is_refused_with_the_kinds(mine: World) -> None:
    bogus = Rule(RuleKind.SESSION_KIND, "bogus")
    for kind in ("bogus", "Cron"):
        with pytest.raises(UsageError, match="chat, cron, heartbeat, hook, subagent"):
            add_rules(mine.connection, [CHANNEL, Rule(RuleKind.SESSION_KIND, kind)])
    assert list_rules(mine.connection) == []
    mine.sql("insert into orbitpilot.session (user_id, session_id, session_kind) values ('me', 'odd', 'bogus')")
    assert (
        add_rules(mine.connection, [bogus, *(Rule(RuleKind.SESSION_KIND, f" {kind} ") for kind in SESSION_KINDS)]) == 6
    )


def test_a_rule_needs_a_value_and_an_account(mine: World) -> None:
    with pytest.raises(UsageError, match="needs a value"):
        add_rules(mine.connection, [CHANNEL, Rule(RuleKind.CHAT_TYPE, " \t")])
    with pytest.raises(UnknownAccount):
        add_rules(mine.connection, [CHANNEL, Rule(RuleKind.CHANNEL, "slack", "nobody")])
    assert list_rules(mine.connection) == []


def test_an_accounts_rules_follow_its_name_and_go_with_it(mine: World) -> None:
    add_rules(mine.connection, [Rule(RuleKind.CHANNEL, "slack", "me"), CHANNEL])

    mine.sql("update orbitpilot.account set user_id = 'i' where user_id = 'me'")
    assert [rule.user_id for rule in list_rules(mine.connection)] == ["i", None]

    mine.sql("delete from orbitpilot.account")
    assert [rule.user_id for rule in list_rules(mine.connection)] == [None]


def test_a_rule_in_words() -> None:
    assert describe(CHANNEL) == "channel 'slack' of everyone"
    assert describe(Rule(RuleKind.HOOK_SOURCE, "x", "me", "a")) == "hook source 'x' of me, agent a"
