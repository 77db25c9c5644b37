"""The tool that gives a person a file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Protocol

from qingtuan.errors import FetchFailed, NotThere, ToolFailed
from qingtuan.events.kinds import Kind
from qingtuan.identity.people import People
from qingtuan.identity.privacy import Sight, event_sight, file_goes_along, sight
from qingtuan.identity.scopes import Reader
from qingtuan.identity.trust import Risk
from qingtuan.language import Words
from qingtuan.media.files import Files
from qingtuan.media.store import MediaStore, sized
from qingtuan.messages import Attachment, Origin
from qingtuan.tools.tool import EVERYONE, ToolContext, ToolResult, tool

SEND_FILE = "send_file"
_LONGEST_CAPTION = 300


class PageText(Protocol):
    """A page as it may be shown."""

    @property
    def text(self) -> str: ...

    @property
    def origin(self) -> Origin | None: ...


ReadPage = Callable[[Sight, str], PageText]
"""A page of the wiki for a sight (`identity.privacy`), by its path. Raises `NotThere`, `PageUnreadable`."""


class MediaTools:
    """What can be done with files."""

    def __init__(self, store: MediaStore, files: Files, people: People, read_page: ReadPage) -> None:
        self._store = store
        self._files = files
        self._people = people
        self._read_page = read_page

    @tool(
        risk=Risk.READ,
        returns="own",
        roles=EVERYONE,
        core=False,
        about=Words("把收到过的文件、图片或一页维基发给对方", "send a file, a picture or a wiki page to the person"),
        examples=("把那个文件发给我", "刚才那张图再发一次", "把购物清单那一页当文件发我", "send me that file"),
    )
    async def send_file(
        self,
        context: ToolContext,
        source: Annotated[str, "file:… as an attachment's label gives it, its exact name, or a wiki page's path"],
        caption: Annotated[str, "a line that goes with it"] = "",
    ) -> ToolResult:
        """Send a file that came in, or a wiki page, to the person, along with your reply."""
        attachment, origin = self._file(source, context.reader) or await self._page(source, context.reader)
        line = " ".join(caption.split())[:_LONGEST_CAPTION]
        text = _GOES.say(context.language).format(size=sized(attachment.size))
        data = {"caption": line} if line else None
        return ToolResult(text, data=data, origin=origin, attachments=(attachment,))

    def _file(self, source: str, reader: Reader) -> tuple[Attachment, Origin | None] | None:
        """A file that came with something that the reader may see where they are, if there is one of that name."""
        person = self._people.person(reader.person)
        seen = event_sight(reader, person.accounts if person else (), left=self._people.groups_left(reader.person))
        found = self._files.find(source, seen)
        if found is None:
            return None
        attachment, event = found
        brought = event.kind is Kind.TOOL_FINISHED
        if brought and not file_goes_along(event.origin, reader.space):
            # When it came it was kept from the group, and so it stays.
            return None
        if not self._store.holds(attachment.hash):
            raise ToolFailed(_OVER)
        return attachment, event.origin if brought else None

    async def _page(self, source: str, reader: Reader) -> tuple[Attachment, Origin | None]:
        path = source.strip().removeprefix("/")
        try:
            page = self._read_page(sight(reader), path)
        except NotThere:
            raise ToolFailed(_NONE) from None
        name = path.rpartition("/")[2]
        try:
            kept = await asyncio.to_thread(
                self._store.put, page.text.encode("utf-8", "replace"), name if name.endswith(".md") else f"{name}.md"
            )
        except FetchFailed as error:
            raise ToolFailed(error.words) from None
        return kept, page.origin


_GOES = Words("文件（{size}）会和你的回答一起发出去。", "The file ({size}) goes out with your reply.")
_NONE = Words("没有这个文件，也没有这一页。", "There is no such file, and no such page.")
_OVER = Words("这个文件留的时间过了，已经删掉。", "That file was kept for its time and is gone.")
