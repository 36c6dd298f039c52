"""What a Slack export tells beside its messages: its users, its channels, and what must be said of who is who.

Slack knows users and bots, not a user and an assistant. Which bot is the assistant must be said; whose account it is
may be said, or follows where only one person is in the workspace.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from orbit_pipelines.errors import ImportFailed
from orbit_pipelines.history.formats.content import as_list, as_object, as_word
from orbit_pipelines.history.reading import Export
from orbit_pipelines.history.rows import read_document
from orbit_pipelines.history.stream import Problems
from orbit_pipelines.history.text import usable_id

USERS = "users.json"
CHAT_TYPES = {"channels.json": "channel", "groups.json": "group", "mpims.json": "group", "dms.json": "direct"}
"""The files that list an export's channels, and what chats in them are called here."""

_SLACKBOT = "USLACKBOT"

_DIRECT_FOLDER = re.compile(r"D[A-Z0-9]+")
"""Direct chats have no name, so that their folders bear their ids; names have no capitals."""


@dataclass(frozen=True, slots=True)
class Speakers:
    """Who is who in an export that only names its users.

    ``bot`` is an id of the assistant, ``owner`` that of the account's user, ``account`` whose history it becomes.
    """

    bot: str | None = None
    owner: str | None = None
    account: str | None = None


@dataclass(frozen=True, slots=True)
class User:
    """A member of the workspace, a person or a bot."""

    user_id: str
    name: str
    is_bot: bool
    bot_id: str | None


@dataclass(frozen=True, slots=True)
class Channel:
    """A channel, a group or a direct chat. ``channel_id`` is the folder's name where no list tells the id."""

    channel_id: str
    name: str
    chat_type: str | None = None
    members: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Workspace:
    """All of that; ``folders`` is the folder of each document of the export, by its number."""

    name: str = "the export"
    speakers: Speakers = Speakers()
    folders: tuple[str | None, ...] = ()
    users: Mapping[str, User] = field(default_factory=dict)
    channels: Mapping[str, Channel] = field(default_factory=dict)

    def channel_of(self, document: int) -> Channel | None:
        """Return the channel whose folder a document lies in; None for a file handed over alone."""
        folder = self.folders[document] if document < len(self.folders) else None
        if folder is None:
            return None
        chat_type = "direct" if _DIRECT_FOLDER.fullmatch(folder) else None
        return self.channels.get(folder.casefold()) or Channel(folder, folder, chat_type)

    def assistant_ids(self) -> set[str]:
        """Return the ids under which the assistant speaks: a bot has one as a bot and one as a user."""
        bot = self.speakers.bot
        if bot is None:
            return set()
        known = [user for user in self.users.values() if bot in (user.user_id, user.bot_id)]
        ids = {bot, *(each for user in known for each in (user.user_id, user.bot_id))}
        return {each for each in ids if each is not None}

    def owner_id(self) -> str | None:
        """Return the account's user: the one who was named, or who is named like the account, or the only person."""
        if self.speakers.owner is not None:
            return self.speakers.owner
        if self.speakers.account in self.users:
            return self.speakers.account
        people = [user.user_id for user in self.users.values() if not user.is_bot]
        return people[0] if len(people) == 1 else None

    def is_bot(self, user_id: str | None) -> bool:
        """Say whether a user is known to be none of the people."""
        user = self.users.get(user_id or "")
        return user_id == _SLACKBOT or (user is not None and user.is_bot)

    def name_of(self, user_id: str) -> str:
        """Return the name that the workspace shows for a user; the id where it has none."""
        user = self.users.get(user_id)
        return user.name if user else user_id


def read_workspace(export: Export, speakers: Speakers, problems: Problems) -> Workspace:
    """Read what an export has beside its messages; a list that can't be read is reported and done without."""
    lists = replace(export, documents=export.companions)
    users: dict[str, User] = {}
    channels: dict[str, Channel] = {}
    for number, document in enumerate(lists.documents):
        name = document.name.lower()
        if name != USERS and name not in CHAT_TYPES:
            continue
        try:
            values = [row.value for row in read_document(lists, number, problems)]
        except ImportFailed as error:
            problems.add("broken_list", document.name, str(error))
            continue
        if name == USERS:
            users |= list_users(values)
        else:
            channels |= list_channels(values, CHAT_TYPES[name])
    folders = tuple(document.folder for document in export.documents)
    return Workspace(export.name, speakers, folders, users, channels)


def list_users(values: Iterable[object]) -> dict[str, User]:
    """Return the users of ``users.json`` by their id."""
    users = {}
    for value in values:
        entry = as_object(value)
        profile = as_object(entry.get("profile"))
        user_id = usable_id(entry.get("id"))
        if user_id is None:
            continue
        names = (profile.get("display_name"), profile.get("real_name"), entry.get("real_name"), entry.get("name"))
        users[user_id] = User(
            user_id=user_id,
            name=next((name for name in map(as_word, names) if name), user_id),
            is_bot=entry.get("is_bot") is True or user_id == _SLACKBOT,
            bot_id=usable_id(profile.get("bot_id")),
        )
    return users


def list_channels(values: Iterable[object], chat_type: str) -> dict[str, Channel]:
    """Return the channels of one of ``CHAT_TYPES`` by their folder's name, case-folded: their name, or their id."""
    channels = {}
    for value in values:
        entry = as_object(value)
        channel_id = usable_id(entry.get("id"))
        if channel_id is None:
            continue
        name = usable_id(entry.get("name")) or channel_id
        members = frozenset(filter(None, map(usable_id, as_list(entry.get("members")))))
        channels[name.casefold()] = Channel(channel_id, name, chat_type, members)
    return channels
