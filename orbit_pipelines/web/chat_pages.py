"""The chat: full page and docked window, the list of sessions, and each of them for reading."""

import json
from collections.abc import Iterator
from itertools import accumulate
from typing import Annotated, Any, Literal
from urllib.parse import urlencode

from fastapi import APIRouter, Form, HTTPException, Query, Request, status
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.responses import Response, StreamingResponse

from orbit_pipelines.history.stream import Role
from orbit_pipelines.history.text import clean_text
from orbit_pipelines.model import DEFAULT_AGENT, Reason, Store
from orbit_pipelines.telling.labels import Label, labels_of
from orbit_pipelines.web.conversations import (
    close_running_session,
    list_sessions,
    read_session,
    read_thread,
    running_session,
)
from orbit_pipelines.web.rendering import local_page, redirect, render
from orbit_pipelines.web.replying import LONGEST_MESSAGE, Piece, reply_to, reply_to_guest, store_question
from orbit_pipelines.web.responders.protocol import Turn
from orbit_pipelines.web.urls import CHAT, THREAD, session_url
from orbit_pipelines.web.visits import AnyVisit, BriefVisit, SignedIn, Visit

router = APIRouter()

STREAMED = "application/x-ndjson"
"""What a script asks for: a reply piece by piece, a JSON object a line, ``{"text": …}`` or ``{"problem": …}``."""

MOST_GUEST_TURNS = 100
MOST_GUEST_CHARACTERS = 200_000
MOST_GUEST_BYTES = 450_000
"""Of the thread as a guest's page sends it; the longest message takes as many, and a request may have a million."""


class GuestTurn(BaseModel):
    """A turn of a guest's thread, which only their own page holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    role: Role
    text: str = Field(max_length=10 * LONGEST_MESSAGE)


_GUEST_THREAD = TypeAdapter(list[GuestTurn])


@router.get("/", include_in_schema=False)
def front_page() -> Response:
    """Lead to the chat."""
    return redirect(CHAT)


@router.get("/healthz", include_in_schema=False)
def healthz() -> dict[str, str]:
    """Answer whoever asks whether the pages are up."""
    return {"status": "ok"}


@router.get(CHAT)
def chat(visit: AnyVisit, problem: str | None = None) -> Response:
    """Show the running session and the composer."""
    return render(visit, "chat.html", problem=problem == "reply", guest_thread=(), **_running_thread(visit))


@router.get(THREAD)
def thread(
    visit: SignedIn,
    agent: Annotated[str, Query()] = DEFAULT_AGENT,
    session: Annotated[str | None, Query()] = None,
    at: Literal["", "dock-"] = "",
) -> Response:
    """Show the messages alone, for a script that puts them into a page: the running session's unless one is named."""
    if session is None:
        return render(visit, "thread.html", at=at, next_page=CHAT, **_running_thread(visit))
    thread = _thread(visit, agent, session)
    return render(visit, "thread.html", at=at, next_page=session_url(agent, session), **thread)


@router.post("/orbitpilot/say/")
def say(
    visit: BriefVisit,
    request: Request,
    text: Annotated[str, Form()] = "",
    thread: Annotated[str, Form()] = "[]",
    speaker: Annotated[str | None, Form()] = None,
    next: Annotated[str | None, Form()] = None,
) -> Response:
    """Take what somebody says, and answer with the reply: streamed to a script, else as the page it appears on.

    ``speaker`` is who looked at the page: where that is nobody's session any more, what is said isn't taken as a
    guest's, of whom nothing is stored.
    """
    if speaker and (visit.person is None or visit.person.user_id != speaker):
        raise HTTPException(status.HTTP_401_UNAUTHORIZED)
    said, _ = clean_text(text.replace("\r\n", "\n").strip())
    if not said or len(said) > LONGEST_MESSAGE:
        raise HTTPException(status.HTTP_413_CONTENT_TOO_LARGE if said else status.HTTP_400_BAD_REQUEST)
    is_script = STREAMED in request.headers.get("accept", "")
    if visit.person is None:
        turns = (*_guest_thread(thread), Turn("user", said))
        pieces = reply_to_guest(visit.site, turns, visit.language)
        return _stream(visit, pieces) if is_script else _guest_page(visit, turns, list(pieces))
    asked = store_question(visit.site, Store(visit.person.user_id), said, visit.language)
    pieces = reply_to(visit.site, asked)
    if is_script:
        return _stream(visit, pieces)
    has_failed = any(piece.kind == "problem" for piece in list(pieces))
    return redirect(f"{CHAT}?problem=reply#latest" if has_failed else f"{local_page(next, CHAT)}#latest")


@router.post("/orbitpilot/close/")
def close(visit: SignedIn) -> Response:
    """Close the running session, and show it as it is to be read from now on."""
    store = Store(visit.user.user_id)
    closed = close_running_session(visit.connection, store)
    return redirect(CHAT if closed is None else session_url(store.agent_id, closed))


@router.get("/orbitpilot/sessions/")
def sessions(visit: SignedIn, page: Annotated[int, Query(ge=1, le=1_000_000)] = 1) -> Response:
    """List the person's sessions, imported ones too."""
    listed, has_older = list_sessions(visit.connection, visit.user.user_id, page)
    return render(visit, "sessions.html", sessions=listed, page=page, has_older=has_older, session_url=session_url)


@router.get("/orbitpilot/session/")
def session_page(visit: SignedIn, session: str, agent: str = DEFAULT_AGENT) -> Response:
    """Show a session for reading, with the eyes of its messages."""
    found = read_session(visit.connection, Store(visit.user.user_id, agent), session)
    if found is None:
        raise HTTPException(status.HTTP_404_NOT_FOUND)
    return render(visit, "session.html", session=found, **_thread(visit, agent, session))


def _running_thread(visit: Visit) -> dict[str, Any]:
    """Return what the template of a thread needs of the running session, if there is one."""
    if visit.person is None:
        return _no_thread()
    store = Store(visit.person.user_id)
    session_id = running_session(visit.connection, store)
    if session_id is None:
        return _no_thread()
    thread = _thread(visit, store.agent_id, session_id)
    return {**thread, "kept_out": _kept_out(thread["labels"])}


def _thread(visit: Visit, agent_id: str, session_id: str) -> dict[str, Any]:
    """Return the messages and, in one query however many they are, the labels of the person's own."""
    user_id = visit.user.user_id
    messages = read_thread(visit.connection, Store(user_id, agent_id), session_id)
    labels = labels_of(visit.connection, user_id, agent_id, session_id) if messages else {}
    return {"messages": messages, "labels": labels, "agent_id": agent_id, "session_id": session_id, "kept_out": None}


def _no_thread() -> dict[str, Any]:
    return {"messages": (), "labels": {}, "agent_id": DEFAULT_AGENT, "session_id": None, "kept_out": None}


def _kept_out(labels: dict[str, Label]) -> Reason | None:
    """Return why memory takes nothing of the running session, if that is the session's own doing.

    The notice under the composer knows the plan and no session, so it goes on saying that conversations are remembered.
    """
    reason = next((label.standing.reason for label in reversed(labels.values())), None)
    return reason if reason in (Reason.SESSION_FORGOTTEN, Reason.NOT_ADMITTED) else None


def _guest_thread(posted: str) -> tuple[Turn, ...]:
    """Return the thread that a guest's page has kept.

    Raises:
        HTTPException: 400, it isn't one.
    """
    try:
        turns = _GUEST_THREAD.validate_json(posted)
    except ValidationError:
        raise HTTPException(status.HTTP_400_BAD_REQUEST) from None
    kept = list(accumulate(len(turn.text) for turn in reversed(turns[-MOST_GUEST_TURNS:])))
    fitting = sum(characters <= MOST_GUEST_CHARACTERS for characters in kept)
    return tuple(Turn(turn.role, turn.text) for turn in turns[len(turns) - fitting :])


def _guest_page(visit: Visit, turns: tuple[Turn, ...], pieces: list[Piece]) -> Response:
    reply, _ = clean_text("".join(piece.text for piece in pieces if piece.kind == "text"))
    shown = (*turns, Turn("assistant", reply)) if reply else turns
    return render(
        visit,
        "chat.html",
        problem=any(piece.kind == "problem" for piece in pieces),
        guest_thread=shown,
        guest_json=_kept_by_page(shown),
        **_no_thread(),
    )


def _kept_by_page(turns: tuple[Turn, ...]) -> str:
    """Return a guest's thread as their page keeps it: the latest turns that it can send back."""
    kept = [{"role": turn.role, "text": turn.text} for turn in turns[-MOST_GUEST_TURNS:]]
    while len(urlencode({"thread": (thread := json.dumps(kept, ensure_ascii=False))})) > MOST_GUEST_BYTES:
        del kept[0]
    return thread


def _stream(visit: Visit, pieces: Iterator[Piece]) -> StreamingResponse:
    problem = visit.wording("chat.reply_failed")

    def lines() -> Iterator[str]:
        for piece in pieces:
            yield f"{json.dumps({piece.kind: piece.text or problem})}\n"

    return StreamingResponse(lines(), media_type=STREAMED, headers={"X-Accel-Buffering": "no"})
