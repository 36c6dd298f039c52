"""The eye and Catch: what a person says of one message or blink, and the page of their blinks.

Each answers a form by going back to its page, and a script by JSON.
"""

from typing import Annotated, Any

from fastapi import APIRouter, Form, HTTPException, Request, status
from starlette.responses import JSONResponse, Response

from orbit_pipelines.model import DEFAULT_AGENT, Reason, Store
from orbit_pipelines.sources.blinks import BLINKS_SOURCE, catch_reply, list_blinks, read_blink
from orbit_pipelines.telling.labels import Label, labels_of, record_labels_of
from orbit_pipelines.web.conversations import find_message
from orbit_pipelines.web.eyes import turn_blink, turn_message
from orbit_pipelines.web.rendering import page_before, redirect, render
from orbit_pipelines.web.urls import BLINKS, CHAT, session_url
from orbit_pipelines.web.visits import SignedIn, Visit

router = APIRouter()

Given = Annotated[str, Form()]
GivenOrNot = Annotated[str | None, Form()]


@router.post("/orbitpilot/message/remember/", name="orbitpilot_toggle_remember")
def toggle_remember(
    visit: SignedIn,
    request: Request,
    message_id: Given,
    format: GivenOrNot = None,
    next: GivenOrNot = None,
) -> Response:
    """Turn the eye of one of the person's own messages; memory follows at the next build.

    ``message_id`` is the message's handle: ids of imported messages repeat between sessions.
    """
    user_id = visit.user.user_id
    message = find_message(visit.connection, user_id, message_id)
    if message is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND)
    if message.role != "user":
        raise HTTPException(status.HTTP_400_BAD_REQUEST)
    store = Store(user_id, message.agent_id)
    is_closed = turn_message(visit.connection, store, message.session_id, message.message_id)
    if is_closed is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND)
    if format != "json":
        return redirect(page_before(request, next, CHAT))
    label = labels_of(visit.connection, user_id, store.agent_id, message.session_id).get(message.handle)
    return JSONResponse({"message_id": message.handle, "not_remembered": is_closed, **_told(visit, label)})


@router.post("/orbitpilot/message/catch/", name="orbitpilot_catch")
def catch(
    visit: SignedIn,
    request: Request,
    message_id: Given,
    format: GivenOrNot = None,
    next: GivenOrNot = None,
) -> Response:
    """Keep a reply as a blink; again is harmless."""
    user_id = visit.user.user_id
    message = find_message(visit.connection, user_id, message_id)
    if message is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND)
    if message.role != "assistant":
        raise HTTPException(status.HTTP_400_BAD_REQUEST)
    store = Store(user_id, message.agent_id)
    was_caught = read_blink(visit.connection, store, message.handle) is not None
    blink = catch_reply(visit.connection, store, message.session_id, message.message_id, message.handle)
    if blink is None:
        raise HTTPException(status.HTTP_400_BAD_REQUEST)
    if format != "json":
        return redirect(page_before(request, next, CHAT))
    label = record_labels_of(visit.connection, user_id, store.agent_id, BLINKS_SOURCE).get(blink.source_id)
    told = _told(visit, label)
    is_from_forgotten = label is not None and label.origin is Reason.SESSION_FORGOTTEN
    if blink.is_excluded and not was_caught and not is_from_forgotten:
        told["label"] = f"{told['label']}. {visit.wording('blink.caught_excluded')}"
    return JSONResponse(
        {"message_id": message.handle, "blink_id": blink.source_id, "is_excluded": blink.is_excluded, **told}
    )


@router.post("/blinks/remember/", name="orbitpilot_toggle_blink")
def toggle_blink(
    visit: SignedIn,
    request: Request,
    blink_id: Given,
    agent: Given = DEFAULT_AGENT,
    format: GivenOrNot = None,
    next: GivenOrNot = None,
) -> Response:
    """Turn a blink's own eye; memory follows at the next build."""
    store = Store(visit.user.user_id, agent)
    is_closed = turn_blink(visit.connection, store, blink_id)
    if is_closed is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND)
    if format != "json":
        return redirect(page_before(request, next, BLINKS))
    label = record_labels_of(visit.connection, store.user_id, agent, BLINKS_SOURCE).get(blink_id)
    return JSONResponse({"blink_id": blink_id, "is_excluded": is_closed, **_told(visit, label)})


@router.get("/blinks/")
def blinks(visit: SignedIn) -> Response:
    """Show the person's blinks with their own eyes."""
    user_id = visit.user.user_id
    found = list_blinks(visit.connection, user_id)
    labels = {
        agent: record_labels_of(visit.connection, user_id, agent, BLINKS_SOURCE)
        for agent in dict.fromkeys(blink.agent_id for blink in found)
    }
    return render(visit, "blinks.html", blinks=found, labels=labels, session_url=session_url)


def _told(visit: Visit, label: Label | None) -> dict[str, Any]:
    """Return a label's state and words; nulls where it was deleted meanwhile."""
    if label is None:
        return {"state": None, "label": None}
    return {"state": label.state, "label": str(label.text(visit.wording))}
