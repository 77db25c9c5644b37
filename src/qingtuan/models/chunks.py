"""The JSON chunks of an answer's body: a stream of events, or one document from a provider that does not stream.

Which it is shows in the first byte that is no white space, whatever the headers say.
"""

from __future__ import annotations

import json

from qingtuan.models.failures import Interrupted
from qingtuan.models.sse import LONGEST_EVENT, Decoder, EventTooLong, ServerEvent

_BOM = b"\xef\xbb\xbf"
_END = "[DONE]"


class Chunks:
    """Takes bytes as they come and gives JSON values as they are whole."""

    def __init__(self) -> None:
        self.done = False
        """Whether the body said that it ends here."""
        self.page = False
        """Whether the body is a web page."""
        self._head = b""
        self._decoder: Decoder | None = None
        self._document: list[bytes] | None = None
        self._size = 0

    def feed(self, data: bytes) -> list[object]:
        """The chunks that `data` completes.

        Raises:
            Interrupted: what comes is no JSON, or never ends.
        """
        if self._decoder is not None:
            return self._events(self._decoder, data)
        if self._document is not None:
            self._collect(data)
            return []
        self._head += data
        begun = self._head.removeprefix(_BOM).lstrip()
        if not begun or _BOM.startswith(self._head):
            return []
        head, self._head = self._head, b""
        match begun[:1]:
            case b"<":
                self.page = True
                self._document = []
            case b"{" | b"[":
                self._document = [begun]
            case _:
                self._decoder = Decoder()
                return self._events(self._decoder, head)
        return []

    def end(self) -> list[object]:
        """What was still open when the body ended."""
        if self._decoder is not None:
            return self._parsed(self._decoder.end())
        if self._document is None or self.page:
            return []
        document = _json(b"".join(self._document))
        self.done = True
        return document if isinstance(document, list) else [document]

    def _events(self, decoder: Decoder, data: bytes) -> list[object]:
        try:
            return self._parsed(decoder.feed(data))
        except EventTooLong as error:
            raise Interrupted(str(error)) from None

    def _parsed(self, events: list[ServerEvent]) -> list[object]:
        chunks: list[object] = []
        for event in events:
            if event.data == _END or event.data.strip() == _END:
                self.done = True
                break
            if event.data.strip():
                chunk = _json(event.data)
                is_error = event.name == "error" and not (isinstance(chunk, dict) and "error" in chunk)
                chunks.append({"error": chunk} if is_error else chunk)
        return chunks

    def _collect(self, data: bytes) -> None:
        self._size += len(data)
        if self._size > LONGEST_EVENT:
            raise Interrupted("an endless answer")
        if self._document is not None and not self.page:
            self._document.append(data)


def _json(text: str | bytes) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Interrupted("a chunk that is no JSON") from None
