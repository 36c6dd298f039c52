"""The session transcripts of OpenClaw: one session a file, one entry a line, an append-only tree.

Every entry names the one before it, and writing on from an earlier one begins a branch; where a session stands is told
by its last entry. Compaction only adds a summary. The files have been through a lot: lines are cut, rows that were
written past the session's own writer have no id or no parent, and what keeps a session short may leave only its tail.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from orbit_pipelines.errors import UnreadableExport
from orbit_pipelines.history.formats.branches import UNSAID, named_parent
from orbit_pipelines.history.formats.content import as_list, as_object, as_word, content_text
from orbit_pipelines.history.formats.openclaw_origin import (
    CHAT,
    SHARED,
    UNKNOWN_SENDER,
    Origin,
    author_of,
    kind_of_authors,
    origin_of_entry,
    sender_of,
    without_injected,
)
from orbit_pipelines.history.formats.turns import Entries, Turn, branch_in_view, first_sent, split_branch
from orbit_pipelines.history.json_text import LARGEST_VALUE
from orbit_pipelines.history.rows import Row
from orbit_pipelines.history.stream import ParsedSession, Problems, Role
from orbit_pipelines.history.text import storable, usable_id
from orbit_pipelines.history.times import read_time

_ROLES: dict[str, Role] = {"user": "user", "human": "user", "assistant": "assistant"}
_NO_TURNS = frozenset(
    {
        "bashexecution",
        "branchsummary",
        "compactionsummary",
        "custom",
        "developer",
        "function",
        "system",
        "thinking",
        "tool",
        "tool_call",
        "tool_result",
        "tool_use",
        "toolcall",
        "toolresult",
    }
)
"""Who speaks in a message that is no turn; anybody else may have asked something."""

_ENTRY_TYPES = frozenset(
    {
        "branch_summary",
        "compaction",
        "custom",
        "custom_message",
        "label",
        "leaf",
        "message",
        "model_change",
        "session_info",
        "thinking_level_change",
    }
)
_ENTRY_ITSELF = 64
"""What an entry counts for beside its text: links and turns take memory too."""

_CUT_SHORT = frozenset({"aborted", "error", "length"})
_MIRROR = "delivery-mirror"
_SILENT = frozenset({"ANNOUNCE_SKIP", "HEARTBEAT_OK", "NO_REPLY", "REPLY_SKIP"})
"""What the agent writes in a last line where it has nothing to say, or nothing more: the gateway doesn't deliver it."""

_DIRECTIVE = re.compile(r"\[\[\s*(?:reply_to_current|reply_to\s*:[^\]\n]*|audio_as_voice)\s*\]\]\s*")


def recognises(value: object) -> bool:
    """Say whether ``value`` is an entry of a transcript, or a row of the older kind without an entry around it."""
    if not isinstance(value, dict):
        return False
    kind = as_word(value.get("type"))
    if kind == "session":
        return "id" in value and bool(value.keys() & {"cwd", "timestamp", "version"})
    if kind == "message" and "role" in as_object(value.get("message")):
        return True
    if kind is not None and kind.lower() in _ROLES:
        return isinstance(value.get("content"), str | list) and not value.keys() & {"role", "from"}
    return kind in _ENTRY_TYPES and "id" in value and "parentId" in value


def read(
    rows: Iterable[Row], problems: Problems, origins: Mapping[str, Origin] | None = None
) -> Iterator[ParsedSession]:
    """Yield each transcript's active branch; one that has nothing to show is reported instead.

    Args:
        rows: the entries of one transcript after the other.
        problems: told of what is left out.
        origins: what is known of sessions, by their id, beside what their transcripts tell.

    Raises:
        UnreadableExport: a transcript holds more than ``LARGEST_VALUE`` characters.
    """
    transcript: _Transcript | None = None
    document = -1
    for row in rows:
        entry = row.value if isinstance(row.value, dict) else {}
        is_new = transcript is None or row.document != document or transcript.is_ended_by(entry)
        if transcript is None or is_new:
            yield from _finish(transcript, problems, origins or {})
            transcript = _Transcript(row.where)
            document = row.document
        transcript.pass_over(row.lost_lines)
        if as_word(entry.get("type")) is None:
            problems.add("broken_message", row.where, "no entry of a session; skipped")
            transcript.pass_over(1)
            continue
        transcript.add(entry, row.where, problems)
    yield from _finish(transcript, problems, origins or {})


def _finish(
    transcript: "_Transcript | None", problems: Problems, origins: Mapping[str, Origin]
) -> Iterator[ParsedSession]:
    session = transcript.session(problems, origins) if transcript else None
    if session is not None:
        yield session


@dataclass(slots=True)
class _Transcript:
    """What was read of one session so far: its links, its turns and nothing else, whatever its tools returned."""

    where: str
    session_id: str | None = None
    title: str | None = None
    started_at: object = None
    origin: Origin | None = None
    leaf: str | None = None
    last_key: str = ""
    entries: Entries = field(default_factory=Entries)
    unlinked: dict[str, str] = field(default_factory=dict)
    """The entries that say nothing of a parent, each with the entry before it."""
    gaps: dict[str, int] = field(default_factory=dict)
    """The entries that no link joins to those before them, as far as is known, with how many couldn't be read there."""
    mirrors: set[str] = field(default_factory=set)
    senders: dict[str, str] = field(default_factory=dict)
    is_shared: bool = False
    """Whether a message says that others than the account's user may have sent it."""
    has_header: bool = False
    unread: int = 0
    """How many entries couldn't be read since the last that stands somewhere."""
    characters: int = 0

    def is_ended_by(self, entry: Mapping[str, object]) -> bool:
        """Say whether ``entry`` is the header of another session in the same file."""
        if entry.get("type") != "session" or not (self.has_header or self.entries.turns):
            return False
        return not self.has_header or usable_id(entry.get("id")) != self.session_id

    def pass_over(self, entries: int) -> None:
        """Note entries that couldn't be read."""
        self.unread += entries

    def add(self, entry: dict[str, object], where: str, problems: Problems) -> None:
        """Take one entry, in file order."""
        kind = entry.get("type")
        self.origin = self.origin or (origin_of_entry(entry) if kind in ("session", "custom", "session_info") else None)
        if kind == "session":
            self.has_header = True
            self.session_id = usable_id(entry.get("id"))
            self.started_at = entry.get("timestamp")
            self.where = f"session {self.session_id}" if self.session_id else self.where
            self.unread = 0
            return
        if kind == "session_info":
            self.title = as_word(entry.get("name")) or self.title
        key = usable_id(entry.get("id"))
        if key is not None and key in self.entries.turns:
            problems.add("repeated_message", where, "its id stands twice in the session; taken once")
            return
        speaker = _speaker(entry)
        role = _ROLES.get(speaker or "")
        is_unread = speaker is not None and role is None and speaker not in _NO_TURNS
        if is_unread:
            problems.add("unknown_role", where, "neither a turn nor a role known to be none; skipped")
        if key is None and role is None and not is_unread:
            return
        # A usable id holds no NUL, so that this one is nobody's parent.
        place = key or f"\0{len(self.entries.turns)}"
        turn = None if role is None else self._turn(entry, place, role, where, problems)
        self._place(place, turn, entry, is_unread=is_unread)

    def _place(self, key: str, turn: Turn | None, entry: Mapping[str, object], *, is_unread: bool) -> None:
        is_reply = turn is not None and turn.role == "assistant"
        parent: str | None = UNSAID
        if usable_id(entry.get("id")) is not None:
            parent = named_parent(entry, "parentId", ("",), is_reply=is_reply)
            is_leaf = entry.get("type") == "leaf"
            if is_leaf and (target := usable_id(entry.get("targetId"))) in self.entries.turns:
                self.leaf = parent = target
            elif not is_leaf and entry.get("appendMode") != "side":
                self.leaf = key
        if parent == UNSAID:
            self.unlinked[key] = self.last_key
        if parent not in self.entries.turns:
            self.gaps[key] = self.unread
            self.unread = 0
        elif turn is not None:
            # Its link tells that nothing is missing before it.
            self.unread = 0
        if is_unread:
            self.entries.lose(key, parent)
        else:
            self.entries.add(key, parent, turn)
        self.last_key = key
        self.characters += _ENTRY_ITSELF + (len(turn.text) if turn else 0)
        if self.characters > LARGEST_VALUE:
            raise UnreadableExport(
                f"{self.where} holds more than {LARGEST_VALUE:,} characters, the most that one conversation may have."
            )

    def _turn(self, entry: dict[str, object], key: str, role: Role, where: str, problems: Problems) -> Turn | None:
        message = as_object(entry.get("message")) if entry.get("type") == "message" else entry
        text = content_text(message.get("content"), where, problems)
        author = None
        if role == "user":
            text, named = without_injected(text)
            author = author_of(message, text)
            sender = sender_of(message).or_else(named)
            if author is None:
                self.is_shared = self.is_shared or sender.is_shared
                if sender.name is not None:
                    self.senders[key] = sender.name
        else:
            text = _delivered(_DIRECTIVE.sub("", text))
            if message.get("model") == _MIRROR:
                self.mirrors.add(key)
        return Turn(
            role=role,
            message_id=usable_id(entry.get("id")),
            text=text,
            sent_at=read_time(where, problems, entry.get("timestamp"), message.get("timestamp")),
            author=author,
            is_partial=as_word(message.get("stopReason")) in _CUT_SHORT,
            is_open=_calls_tool(message),
        )

    def session(self, problems: Problems, origins: Mapping[str, Origin]) -> ParsedSession | None:
        """Return what the session shows, or None after reporting that it shows nothing."""
        self._set_apart()
        for key, unread in self.gaps.items():
            if unread and self.entries.named.get(key) not in self.entries.turns:
                self.entries.lost[key] = self.entries.lost.get(key, 0) + unread
        branch = branch_in_view(self.entries, self.leaf, self.where, problems, names_questions=False)
        origin = self.origin or (origins.get(self.session_id) if self.session_id else None) or Origin()
        if self.is_shared and origin.chat_type not in SHARED:
            origin = replace(origin, chat_type="group")
        self._name_authors(origin)
        branch = self._without_repeats(branch)
        messages, left_behind = split_branch(self.entries, branch, self.where, problems)
        if not messages:
            problems.add("empty_conversation", self.where, "no message of the user or the assistant on its branch")
        if not messages and not left_behind:
            return None
        kind = origin.session_kind
        if kind in (None, CHAT):
            kind = kind_of_authors(message.author for message in messages if message.role == "user") or kind
        return ParsedSession(
            session_id=self.session_id,
            messages=messages,
            title=storable(self.title, f"title of {self.where}", problems) if self.title else None,
            started_at=read_time(self.where, problems, self.started_at) or first_sent(messages),
            left_behind=left_behind,
            channel=origin.channel,
            chat_type=origin.chat_type,
            session_kind=kind,
            hook_source=origin.hook_source,
            participants=frozenset(self.senders.values()),
        )

    def _set_apart(self) -> None:
        """Take out of the tree what says nothing of a parent and is nobody's.

        It was written past the session's own writer, and stands behind the entry before it whatever else follows that.
        """
        entries = self.entries
        parents = set(entries.named.values())
        anchors: dict[str | None, str] = {}
        for key, before in self.unlinked.items():
            if key not in parents:
                anchors[key] = anchor = anchors.get(before, before)
                entries.behind.setdefault(anchor, []).append(key)
                del entries.named[key]
        self.leaf = anchors.get(self.leaf, self.leaf or "") or None

    def _without_repeats(self, branch: list[str]) -> list[str]:
        """Leave out mirrored deliveries of what the session has already as its own reply."""
        kept: list[str] = []
        said: set[str] = set()
        for key in branch:
            turn = self.entries.turns[key]
            if turn is not None and turn.role == "user":
                said.clear()
            elif turn is not None:
                words = turn.text.strip()
                if key in self.mirrors and words in said:
                    self.entries.turns[key] = None
                said.add(words)
            kept.append(key)
        return kept

    def _name_authors(self, origin: Origin) -> None:
        """Name who wrote in the user's role, where the session as a whole tells that it wasn't the user alone."""
        authors = dict(self.senders)
        nobody = None if origin.session_kind == CHAT else origin.session_kind
        # Where several people speak nobody says which of them the account is: each is named, none is taken for it.
        if origin.chat_type in SHARED or len(set(authors.values())) > 1:
            nobody = nobody or UNKNOWN_SENDER
        else:
            authors = {}
        for key, turn in self.entries.turns.items():
            if turn is not None and turn.role == "user" and turn.author is None:
                self.entries.turns[key] = replace(turn, author=authors.get(key, nobody))


def _speaker(entry: Mapping[str, object]) -> str | None:
    """Return the name of who speaks, in small letters; None for an entry that is no message."""
    kind = as_word(entry.get("type")) or ""
    if kind == "message":
        return (as_word(as_object(entry.get("message")).get("role")) or "").strip().lower()
    return kind.strip().lower() if "content" in entry and kind not in _ENTRY_TYPES else None


def _delivered(reply: str) -> str:
    """Return a reply without the line that tells the gateway to deliver nothing."""
    before, _, last = reply.rstrip().rpartition("\n")
    return before if last.strip(" \t*_`\"'.") in _SILENT else reply


def _calls_tool(message: Mapping[str, object]) -> bool:
    if message.get("stopReason") == "toolUse":
        return True
    return any(as_object(block).get("type") == "toolCall" for block in as_list(message.get("content")))
