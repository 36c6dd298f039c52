"""Replies whose own question can't be read: they answer nothing, and mustn't pass for replies to the one before."""

from orbit_pipelines.history.stream import Role

A_QUESTION = 3
"""As many unreadable entries as any reply needs to lose its question: for an entry that is known to be one."""


class LostQuestions:
    """Tells, along one branch, the replies that stand behind an entry that couldn't be read and may be their question.

    Behind a complete reply any such entry may be a question. Behind a question one may be a step to the reply to it,
    while two may be that reply and the next question; a call of a tool has its result before its reply besides.
    """

    def __init__(self) -> None:
        self._unread = 0
        self._is_lost = False

    @property
    def has_gap(self) -> bool:
        """Whether anything was passed over since the last turn."""
        return self._unread > 0

    def pass_over(self, entries: int = 1) -> None:
        """Note entries that may have been questions: broken, or of a role that isn't known."""
        self._unread += entries

    def loses(self, role: Role, before: Role | None, *, goes_on: bool = False) -> bool:
        """Say whether the next turn is such a reply, as all are behind one until the next question.

        Args:
            role: the turn's.
            before: that of the last turn kept, None at the beginning.
            goes_on: whether that turn called a tool, so that its reply goes on.
        """
        if role == "user":
            self._is_lost = False
        elif self._unread:
            needed = A_QUESTION if goes_on else 2 if before == "user" else 1
            self._is_lost = self._is_lost or self._unread >= needed
        self._unread = 0
        return self._is_lost
