"""The body of a streamed answer, watched for the line that ends it: the client stops there, and doesn't tell."""

from collections.abc import Iterator

from httpx2 import AsyncByteStream, SyncByteStream

END = b"[DONE]"


class WatchedBody(SyncByteStream):
    """Passes a body on as it is; ``has_ended`` once the last line has been seen at the beginning of a line."""

    def __init__(self, body: SyncByteStream | AsyncByteStream) -> None:
        if not isinstance(body, SyncByteStream):
            raise TypeError("a body that is read by awaiting can't be watched")
        self._body = body
        self._line = b""
        self.has_ended = False

    def __iter__(self) -> Iterator[bytes]:
        """Yield what is received."""
        for received in self._body:
            *lines, self._line = (self._line + received).split(b"\n")
            self.has_ended = self.has_ended or any(map(_is_end, (*lines, self._line)))
            yield received

    def close(self) -> None:
        """Let go of the connection."""
        self._body.close()


def _is_end(line: bytes) -> bool:
    return line.removeprefix(b"data:").strip().startswith(END)
