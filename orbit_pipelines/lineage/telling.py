"""How a message's story is shown: as JSON for scripts, as a table for people."""

from dataclasses import asdict
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table

from orbit_pipelines.lineage.former_names import FormerName
from orbit_pipelines.lineage.why import FlagState, Story


def story_as_json(story: Story) -> dict[str, Any]:
    """Return the story as values that JSON can hold; times in ISO 8601, hashes in hex."""
    answer = asdict(story)
    answer = {**answer.pop("store"), **answer, "source_id": story.source_id}
    return {key: _plain(value) for key, value in answer.items()}


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value.isoformat() if isinstance(value, datetime) else value


def headline(story: Story) -> str:
    """Say in one sentence whether the message is in memory, the reason, and the build that decided."""
    if story.pair_index is None:
        return f"Not in memory: this {story.role} message belongs to no pair, so it is never remembered."
    if story.decision is None and story.in_memory:
        return "In memory, but no build's lineage says why."
    if story.decision is None:
        return "Not in memory: no build has decided yet."
    state = "In memory" if story.in_memory else "Not in memory"
    return f"{state}: {story.decision.reason}, decided by build {story.decision.build_id}{_on(story.decision.at)}."


def notices(story: Story) -> list[str]:
    """Return what is true now that the last build didn't know, or that explains what it did."""
    said = _former_names(story)
    if story.flag is FlagState.PENDING_REMOVAL:
        said.append("Marked not to be remembered since the last build: the next build removes it.")
    if story.flag is FlagState.PENDING_RETURN:
        said.append("To be remembered again since the last build: the next build adds it.")
    if not story.is_active and story.deleted_at is None:
        said.append("It is off the session's active branch.")
    if story.deleted_at is not None:
        said.append(f"The message was deleted{_on(story.deleted_at)}.")
    facts = story.facts
    if facts is None:
        return said
    if story.role == "assistant" and facts.pair_deleted_at is not None:
        said.append(f"The user message it answers was deleted{_on(facts.pair_deleted_at)}.")
    if facts.run_is_flagged and not facts.is_flagged:
        said.append("Another message that the same reply answers is not to be remembered, so neither is the reply.")
    if facts.session_is_deleted:
        said.append("The session was deleted.")
    if facts.session_forgotten_at is not None:
        said.append(f"The session was forgotten{_on(facts.session_forgotten_at)}.")
    if facts.admitted_below is not None and story.pair_index is not None:
        said.append(
            "An admission rule keeps it out of memory: orbit admission list"
            if story.pair_index >= facts.admitted_below
            else "An admission rule keeps the session out now; memory had this pair before, so it follows what changes."
        )
    if facts.source_reason is not None:
        said.append(f"Chat history is not included for this person: {facts.source_reason}.")
    return said


def story_table(story: Story) -> RenderableType:
    """Return the story for a terminal: the answer, what is true now, and each build's decision in order."""
    head = [headline(story), *notices(story)]
    if story.pair_index is not None:
        head.append(f"Pair {story.pair_index} ({story.source_id}), {len(story.chunks)} chunks in memory.")
    if not story.events:
        return Group(*head)
    was_called_otherwise = any(event.under is not None for event in story.events)
    columns = ["build", "published", "what", "reason", "chunks", "hashes"]
    table = Table(*columns, *(["called then"] if was_called_otherwise else []))
    for event in story.events:
        table.add_row(
            str(event.build_id),
            "" if event.at is None else f"{event.at:%Y-%m-%d %H:%M:%S}",
            event.kind.replace("_", " "),
            event.reason or "",
            str(event.chunk_count or ""),
            " ".join(each[:12] for each in event.hashes),
            *([] if event.under is None else [_label(story, event.under)]),
        )
    return Group(*head, table)


def _former_names(story: Story) -> list[str]:
    said = [
        f"It belonged to another person{_until(name.until)}."
        if name.was_anothers
        else f"It was called {_label(story, name)}{_until(name.until)}."
        for name in story.former_names
    ]
    if any(chunk.under is not None for chunk in story.chunks):
        said.append("Memory has it under its former name: the next build follows.")
    if story.is_with_another_person:
        said.append("Memory has it with the person it belonged to: the next build takes it away there.")
    return said


def _label(story: Story, name: FormerName) -> str:
    """Return the source id under a former name, with whatever else of the key was another; the account's name alone."""
    if name.was_anothers:
        return "another person's"
    source_id = None if name.session_id is None else f"{name.session_id}:{story.pair_index}"
    agent_id = None if name.agent_id == story.store.agent_id else name.agent_id
    user_id = None if name.user_id == story.store.user_id else name.user_id
    return " ".join(each for each in (user_id, agent_id, source_id) if each is not None)


def _until(at: datetime | None) -> str:
    return " before" if at is None else f" until {at:%Y-%m-%d %H:%M:%S}"


def _on(at: datetime | None) -> str:
    return "" if at is None else f" on {at:%Y-%m-%d %H:%M:%S}"
