"""Which sessions stay out of memory from now on: `orbit admission`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from orbit_pipelines.cli.options import AsJson, parse_id, parse_short_id
from orbit_pipelines.errors import UsageError

if TYPE_CHECKING:
    from orbit_pipelines.forgetting.admission import Rule

app = typer.Typer()
admission = typer.Typer(
    no_args_is_help=True,
    help="Keep sessions out of memory from now on. What memory has already stays: that is for orbit forget.",
)
app.add_typer(admission, name="admission", rich_help_panel="Administration")

FOLLOWS = "Memory follows at the next build: orbit build"


def _values(name: str, what: str) -> Any:
    return typer.Option(name, metavar="VALUE", parser=parse_short_id, help=f"{what}; may be given again.")


Channels = Annotated[list[str] | None, _values("--channel", "Sessions of this channel")]
ChatTypes = Annotated[list[str] | None, _values("--chat-type", "Sessions of this chat type")]
SessionKinds = Annotated[list[str] | None, _values("--session-kind", "Sessions of this kind, such as cron or hook")]
HookSources = Annotated[list[str] | None, _values("--hook-source", "Sessions that this hook source began")]
Participants = Annotated[list[str] | None, _values("--participant", "Sessions in which this actor id took part")]
OneUser = Annotated[
    str | None, typer.Option("--user", metavar="USER", parser=parse_id, help="Of this person only; else of everyone.")
]
OneAgent = Annotated[
    str | None, typer.Option("--agent", metavar="AGENT", parser=parse_id, help="With this agent only; else with any.")
]


@admission.command("add")
def add(
    channel: Channels = None,
    chat_type: ChatTypes = None,
    session_kind: SessionKinds = None,
    hook_source: HookSources = None,
    participant: Participants = None,
    user: OneUser = None,
    agent: OneAgent = None,
    as_json: AsJson = False,
) -> None:
    """Keep sessions out of memory from now on: those that any of the rules matches, exactly and case-sensitively.

    What builds have covered already stays. A session that doesn't say its channel (…) is matched by no rule on it.

    Example: orbit admission add --channel slack --participant U042 --user mara
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.forgetting.admission import add_rules, list_rules
    from orbit_pipelines.settings import load_settings

    rules = _rules(channel, chat_type, session_kind, hook_source, participant, user, agent)
    if not rules:
        raise UsageError("No rule given: say --channel, --chat-type, --session-kind, --hook-source or --participant.")
    with open_database(load_settings()) as connection:
        added = add_rules(connection, rules)
        in_force = list_rules(connection)
    if as_json:
        from orbit_pipelines.cli.output import print_json

        print_json({"added": added, "rules": [rule.as_json() for rule in in_force]})
        return
    there = len(rules) - added
    typer.echo(f"{_count(added)} added" + (f", {there:,} in force already." if there else "."))
    if added:
        typer.echo(f"What memory has of such sessions stays; nothing more of them enters. {FOLLOWS}")


@admission.command("list")
def list_command(as_json: AsJson = False) -> None:
    """List the rules in force, and how many sessions each matches now.

    Example: orbit admission list
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.cli.output import print_json, show, table
    from orbit_pipelines.forgetting.admission import list_rules
    from orbit_pipelines.settings import load_settings

    with open_database(load_settings()) as connection:
        rules = list_rules(connection)
    if as_json:
        print_json([rule.as_json() for rule in rules])
    elif not rules:
        typer.echo("No admission rules: every session may enter memory.")
    else:
        listed = table("rule", "kind", "value", "user", "agent", "sessions", numbers=["rule", "sessions"])
        for rule in rules:
            listed.add_row(
                str(rule.rule_id),
                rule.kind,
                rule.value,
                rule.user_id or "everyone",
                rule.agent_id or "any",
                f"{rule.sessions:,}",
            )
        show(listed)


@admission.command("remove")
def remove(
    rule: Annotated[
        list[int] | None, typer.Argument(metavar="[RULE]...", help="Numbers of rules, as `orbit admission list` says.")
    ] = None,
    channel: Channels = None,
    chat_type: ChatTypes = None,
    session_kind: SessionKinds = None,
    hook_source: HookSources = None,
    participant: Participants = None,
    user: OneUser = None,
    agent: OneAgent = None,
    as_json: AsJson = False,
) -> None:
    """Take rules back, by number or as they were given; what they kept out enters memory at the next build.

    Example: orbit admission remove --channel slack --user mara
    """
    from orbit_pipelines.cli.opening import open_database
    from orbit_pipelines.forgetting.admission import list_rules, remove_rules
    from orbit_pipelines.settings import load_settings

    rules = _rules(channel, chat_type, session_kind, hook_source, participant, user, agent)
    if not rules and not rule:
        raise UsageError("No rule named: give its number, or the options it was added with.")
    if not rules and (user or agent):
        raise UsageError("A number names its rule alone: leave out --user and --agent.")
    with open_database(load_settings()) as connection:
        removed = remove_rules(connection, rules, rule or [])
        in_force = list_rules(connection)
    if as_json:
        from orbit_pipelines.cli.output import print_json

        print_json({"removed": removed, "rules": [each.as_json() for each in in_force]})
        return
    typer.echo(f"{_count(removed)} removed. {FOLLOWS}")


def _rules(
    channel: list[str] | None,
    chat_type: list[str] | None,
    session_kind: list[str] | None,
    hook_source: list[str] | None,
    participant: list[str] | None,
    user: str | None,
    agent: str | None,
) -> "list[Rule]":
    from orbit_pipelines.forgetting.admission import Rule, RuleKind

    given = {
        RuleKind.CHANNEL: channel,
        RuleKind.CHAT_TYPE: chat_type,
        RuleKind.SESSION_KIND: session_kind,
        RuleKind.HOOK_SOURCE: hook_source,
        RuleKind.PARTICIPANT: participant,
    }
    unique = dict.fromkeys((kind, value.strip()) for kind, values in given.items() for value in values or ())
    return [Rule(kind, value, user, agent) for kind, value in unique]


def _count(rules: int) -> str:
    return "1 rule" if rules == 1 else f"{rules:,} rules"
