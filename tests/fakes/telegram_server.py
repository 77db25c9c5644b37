"""A Bot API server over real sockets, as far as a bot can tell, in which people chat.

Checks what the real one checks: HTML, lengths in UTF-16 units, what is answered, who blocked whom. Faults are scripted
by method: the next call of `sendMessage` is answered with this error, late, or not at all.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.fakes.telegram_text import MOST_CAPTION, MOST_UNITS, NotParsed, parsed, units
from tests.fakes.telegram_wire import Answer, Asked, Wire, post

TOKEN = "666:TEST-token_of-the-fake"
BOT = {"id": 666, "is_bot": True, "first_name": "Bot", "username": "TestNameBot"}
MING = {"id": 5, "is_bot": False, "first_name": "Ming", "username": "ming5", "language_code": "zh-hans"}
GROUP = -1001234567890
START = 1795983000

Message = dict[str, Any]
Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fault:
    """What happens to one call in place of, or along with, what it asks for."""

    status: int = 0
    body: Any = None
    """An answer of the API, or bytes of somebody else; with status 0 the call is done as it should be."""
    seconds: float = 0.0
    """How long nothing is said first."""
    done: bool = False
    """Whether it is done all the same."""
    cut: bool = False
    """Whether the connection drops in place of an answer."""
    held: asyncio.Event | None = None
    """Nothing is said before this."""


class Refusal(Exception):
    """Raised where the real server refuses."""

    def __init__(self, code: int, description: str, **parameters: Any) -> None:
        super().__init__(description)
        self.body: dict[str, Any] = {"ok": False, "error_code": code, "description": description}
        if parameters:
            self.body["parameters"] = parameters


@dataclass
class Chat:
    """One chat: what stands in it, and what may be done there."""

    info: dict[str, Any]
    messages: dict[int, Message] = field(default_factory=dict)
    blocked: bool = False
    moved_to: int | None = None
    topics: set[int] = field(default_factory=set)
    next_id: int = 1

    def by_bot(self) -> list[Message]:
        return [message for message in self.messages.values() if message["from"]["id"] == BOT["id"]]


@dataclass
class TelegramServer:
    """The server. `updates` is what it still has to deliver."""

    token: str = TOKEN
    username: str = str(BOT["username"])
    reads_all: bool = False
    retry_seconds: float = 0.05
    """Between two tries of a webhook."""
    longest_poll: float = 50.0
    calls: list[tuple[str, Parameters]] = field(default_factory=list)
    chats: dict[int, Chat] = field(default_factory=dict)
    updates: deque[dict[str, Any]] = field(default_factory=deque)
    faults: dict[str, deque[Fault]] = field(default_factory=lambda: defaultdict(deque))
    files: dict[str, bytes] = field(default_factory=dict)
    """By file id."""
    answered: dict[str, Parameters] = field(default_factory=dict)
    """Presses that the bot has answered, by query."""
    webhook: dict[str, Any] = field(default_factory=dict)
    pushed: list[tuple[int, int]] = field(default_factory=list)
    """Update and status, for each try of the webhook."""
    allowed: list[str] | None = None
    changed: asyncio.Condition = field(default_factory=asyncio.Condition)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(900000100))
    _polling: int = 0
    _pushing: asyncio.Task[None] | None = None
    _wire: Wire = field(init=False)

    def __post_init__(self) -> None:
        self._wire = Wire(self._asked)
        self.chat(MING)

    async def start(self, port: int = 0) -> TelegramServer:
        await self._wire.start(port)
        return self

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._wire.port}"

    @property
    def port(self) -> int:
        return self._wire.port

    async def close(self) -> None:
        if self._pushing is not None:
            self._pushing.cancel()
            await asyncio.gather(self._pushing, return_exceptions=True)
        await self._wire.close()

    # People

    def chat(self, of: Mapping[str, Any]) -> Chat:
        """The chat of this number, opened if need be: with a person, or a group."""
        info = dict(of) if "type" in of else {"id": of["id"], "type": "private", "first_name": of["first_name"]}
        return self.chats.setdefault(int(info["id"]), Chat(info))

    def group(self, number: int = GROUP, **info: Any) -> Chat:
        return self.chat({"id": number, "type": "supergroup", "title": "Hike", **info})

    async def say(
        self, text: str | None = None, *, to: int = 5, by: Mapping[str, Any] = MING, **fields: Any
    ) -> Message:
        """A person says something."""
        chat = self.chats[to]
        if text is not None:
            fields["text"] = text
            if text.startswith("/") and "entities" not in fields:
                command = text.split()[0]
                fields["entities"] = [{"type": "bot_command", "offset": 0, "length": units(command)}]
        message = self._stored(chat, dict(by), fields)
        await self.push({"message": message})
        return message

    async def edit(self, message: Message, text: str) -> None:
        """A person changes what they said."""
        edited = {**message, "text": text, "edit_date": message["date"] + 5}
        self.chats[message["chat"]["id"]].messages[message["message_id"]] = edited
        await self.push({"edited_message": edited})

    async def press(self, message: Message, button: str, by: Mapping[str, Any] = MING) -> str:
        """A person presses the button with these words; the query's id."""
        rows = message["reply_markup"]["inline_keyboard"]
        data = next(one["callback_data"] for row in rows for one in row if one["text"] == button)
        query = f"{next(self._numbers)}"
        shown = self.chats[message["chat"]["id"]].messages[message["message_id"]]
        await self.push(
            {"callback_query": {"id": query, "from": dict(by), "chat_instance": "1", "data": data, "message": shown}}
        )
        return query

    async def block(self, person: int = 5) -> None:
        """A person blocks the bot."""
        chat = self.chats[person]
        chat.blocked = True
        change = {"chat": chat.info, "from": MING, "date": START}
        change["old_chat_member"] = {"user": BOT, "status": "member"}
        change["new_chat_member"] = {"user": BOT, "status": "kicked", "until_date": 0}
        await self.push({"my_chat_member": change})

    async def push(self, update: Mapping[str, Any]) -> int:
        """Something happened that the bot is to hear of; the update's number."""
        numbered = {"update_id": next(self._numbers), **update}
        kind = next(key for key in numbered if key != "update_id")
        if self.allowed is not None and kind not in self.allowed:
            return int(numbered["update_id"])
        self.updates.append(numbered)
        await self._notify()
        return int(numbered["update_id"])

    def put_file(self, file_id: str, content: bytes) -> None:
        self.files[file_id] = content

    # What tests wait for

    async def wait(self, what: Callable[[], Any], seconds: float = 20.0) -> Any:
        """Wait until something is so, and give it."""
        async with asyncio.timeout(seconds), self.changed:
            while not (found := what()):
                await self.changed.wait()
            return found

    async def replies(self, number: int = 1, to: int = 5) -> list[Message]:
        """Wait until the bot has said this much in a chat, and give all of it."""
        found: list[Message] = await self.wait(lambda: said if len(said := self.chats[to].by_bot()) >= number else None)
        return found

    def texts(self, to: int = 5) -> list[str]:
        return [str(message.get("text", message.get("caption", ""))) for message in self.chats[to].by_bot()]

    def called(self, method: str) -> list[Parameters]:
        return [parameters for name, parameters in self.calls if name == method]

    # The API

    async def _asked(self, asked: Asked) -> Answer | None:
        parts = asked.path.strip("/").split("/")
        if parts[0] == "file" and parts[1] == f"bot{self.token}":
            content = self.files.get("/".join(parts[2:]).removeprefix("files/"))
            return Answer.of(404, {}) if content is None else Answer(200, content, "application/octet-stream")
        if parts[0] != f"bot{self.token}":
            return Answer.of(401, {"ok": False, "error_code": 401, "description": "Unauthorized"})
        method = parts[1]
        self.calls.append((method, {**asked.parameters, **({"files": asked.files} if asked.files else {})}))
        fault = self.faults[method].popleft() if self.faults[method] else Fault()
        if fault.seconds:
            await asyncio.sleep(fault.seconds)
        if fault.held is not None:
            await fault.held.wait()
        answer = None
        if not (fault.status or fault.cut) or fault.done:
            answer = await self._run(method, asked)
        await self._notify()
        if fault.cut:
            return None
        if fault.status:
            body = fault.body if isinstance(fault.body, bytes) else json.dumps(fault.body).encode()
            return Answer(fault.status, body)
        return answer

    async def _run(self, method: str, asked: Asked) -> Answer:
        work = getattr(self, f"_api_{method}", None)
        if work is None:
            return Answer.of(404, {"ok": False, "error_code": 404, "description": "Not Found"})
        try:
            result = work(asked.parameters, asked.files)
            if asyncio.iscoroutine(result):
                result = await result
        except Refusal as refusal:
            return Answer.of(refusal.body["error_code"], refusal.body)
        return Answer.of(200, {"ok": True, "result": result})

    def _api_getMe(self, _: Parameters, __: Any) -> Any:
        return {**BOT, "username": self.username, "can_join_groups": True} | {
            "can_read_all_group_messages": self.reads_all,
            "supports_inline_queries": False,
        }

    async def _api_getUpdates(self, given: Parameters, _: Any) -> Any:
        if self.webhook:
            raise Refusal(409, "Conflict: can't use getUpdates method while webhook is active")
        self._polling += 1
        mine = self._polling
        await self._notify()
        if "allowed_updates" in given:
            self.allowed = given["allowed_updates"]
        offset = given.get("offset") or 0
        while self.updates and self.updates[0]["update_id"] < offset:
            self.updates.popleft()
        seconds = min(float(given.get("timeout") or 0), self.longest_poll)

        def ready() -> bool:
            return bool(self.updates) or self._polling != mine

        try:
            async with asyncio.timeout(seconds), self.changed:
                await self.changed.wait_for(ready)
        except TimeoutError:
            return []
        if self._polling != mine:
            raise Refusal(409, "Conflict: terminated by other getUpdates request")
        return list(self.updates)[: given.get("limit") or 100]

    def _api_setWebhook(self, given: Parameters, _: Any) -> Any:
        self.webhook = dict(given)
        self.allowed = given.get("allowed_updates", self.allowed)
        if self._pushing is None:
            self._pushing = asyncio.create_task(self._push())
        return True

    def _api_deleteWebhook(self, given: Parameters, _: Any) -> Any:
        self.webhook = {}
        if self._pushing is not None:
            self._pushing.cancel()
            self._pushing = None
        if given.get("drop_pending_updates"):
            self.updates.clear()
        return True

    def _api_getWebhookInfo(self, _: Parameters, __: Any) -> Any:
        return {"url": self.webhook.get("url", ""), "pending_update_count": len(self.updates)}

    async def _push(self) -> None:
        """Deliver by webhook, one after the other, each until it is taken."""
        while True:
            async with self.changed:
                await self.changed.wait_for(lambda: self.updates and self.webhook)
            update = self.updates[0]
            secret = {"X-Telegram-Bot-Api-Secret-Token": self.webhook.get("secret_token", "")}
            status = await post(self.webhook["url"], update, secret)
            self.pushed.append((update["update_id"], status))
            if 200 <= status < 300:
                self.updates.popleft()
            else:
                await asyncio.sleep(self.retry_seconds)
            await self._notify()

    def _api_sendMessage(self, given: Parameters, _: Any) -> Any:
        chat = self._open(given)
        text = _text(given, "text", MOST_UNITS)
        if not text.strip():
            raise Refusal(400, "Bad Request: message text is empty")
        return self._said(chat, given, {"text": text})

    def _api_sendMessageDraft(self, given: Parameters, _: Any) -> Any:
        self._open(given)
        return True

    def _api_editMessageText(self, given: Parameters, _: Any) -> Any:
        message = self._mine(given, "edit")
        text = _text(given, "text", MOST_UNITS)
        if not text.strip():
            raise Refusal(400, "Bad Request: message text is empty")
        markup = given.get("reply_markup")
        if (message.get("text"), message.get("html"), message.get("reply_markup")) == (text, _html(given), markup):
            raise Refusal(400, "Bad Request: message is not modified: specified new message content is the same")
        message |= {"text": text, "html": _html(given), "edit_date": START + 1}
        _mark(message, markup)
        return message

    def _api_editMessageReplyMarkup(self, given: Parameters, _: Any) -> Any:
        message = self._mine(given, "edit")
        if message.get("reply_markup") == given.get("reply_markup"):
            raise Refusal(400, "Bad Request: message is not modified")
        _mark(message, given.get("reply_markup"))
        return message

    def _api_deleteMessage(self, given: Parameters, _: Any) -> Any:
        message = self._mine(given, "delete")
        del self.chats[message["chat"]["id"]].messages[message["message_id"]]
        return True

    def _api_sendChatAction(self, given: Parameters, _: Any) -> Any:
        self._open(given)
        return True

    def _api_sendPhoto(self, given: Parameters, files: Any) -> Any:
        content = self._upload(given, files, "photo")
        if len(content) > 10 * 1024 * 1024:
            raise Refusal(400, "Bad Request: file is too big")
        if content[:4] not in (b"\x89PNG", b"\xff\xd8\xff\xe0", b"GIF8", b"RIFF"):
            raise Refusal(400, "Bad Request: IMAGE_PROCESS_FAILED")
        photo = [{"file_id": f"photo{len(content)}", "file_unique_id": "u", "width": 10, "height": 10}]
        return self._said(self._open(given), given, {"photo": photo, "caption": _text(given, "caption", MOST_CAPTION)})

    def _api_sendDocument(self, given: Parameters, files: Any) -> Any:
        content = self._upload(given, files, "document")
        name = next((name for name, _ in files.values()), "file")
        document = {"file_id": f"document{len(content)}", "file_unique_id": "u", "file_name": name}
        caption = _text(given, "caption", MOST_CAPTION)
        return self._said(self._open(given), given, {"document": document, "caption": caption})

    def _api_sendAudio(self, given: Parameters, files: Any) -> Any:
        content = self._upload(given, files, "audio")
        audio = {"file_id": f"audio{len(content)}", "file_unique_id": "u", "duration": 1}
        return self._said(self._open(given), given, {"audio": audio})

    def _api_sendMediaGroup(self, given: Parameters, files: Any) -> Any:
        media = given["media"]
        if not 2 <= len(media) <= 10:
            raise Refusal(400, "Bad Request: group must contain 2 to 10 media")
        chat = self._open(given)
        return [
            self._said(chat, given, {"media_group_id": "1", one["type"]: self._upload(one, files, "media")[:1].hex()})
            for one in media
        ]

    def _api_getFile(self, given: Parameters, _: Any) -> Any:
        name = given["file_id"]
        if name not in self.files:
            raise Refusal(400, "Bad Request: wrong file_id or the file is temporarily unavailable")
        size = len(self.files[name])
        if size > 20 * 1024 * 1024:
            raise Refusal(400, "Bad Request: file is too big")
        return {"file_id": name, "file_unique_id": "u", "file_size": size, "file_path": f"files/{name}"}

    def _api_answerCallbackQuery(self, given: Parameters, _: Any) -> Any:
        if len(str(given.get("text", ""))) > 200:
            raise Refusal(400, "Bad Request: MESSAGE_TOO_LONG")
        self.answered[str(given["callback_query_id"])] = given
        return True

    # What they share

    def _open(self, given: Parameters) -> Chat:
        chat = self.chats.get(int(given["chat_id"]))
        if chat is None:
            raise Refusal(400, "Bad Request: chat not found")
        if chat.moved_to is not None:
            reason = "Bad Request: group chat was upgraded to a supergroup chat"
            raise Refusal(400, reason, migrate_to_chat_id=chat.moved_to)
        if chat.blocked:
            raise Refusal(403, "Forbidden: bot was blocked by the user")
        return chat

    def _mine(self, given: Parameters, doing: str) -> Message:
        message = self._open(given).messages.get(int(given["message_id"]))
        if message is None or message["from"]["id"] != BOT["id"]:
            raise Refusal(400, f"Bad Request: message to {doing} not found")
        return message

    def _said(self, chat: Chat, given: Parameters, fields: dict[str, Any]) -> Message:
        topic = given.get("message_thread_id")
        if topic is not None:
            if topic not in chat.topics:
                raise Refusal(400, "Bad Request: message thread not found")
            fields |= {"message_thread_id": topic, "is_topic_message": True}
        reply = given.get("reply_parameters")
        if reply and (replied := chat.messages.get(int(reply["message_id"]))) is not None:
            fields["reply_to_message"] = replied
        elif reply and not reply.get("allow_sending_without_reply"):
            raise Refusal(400, "Bad Request: message to be replied not found")
        if given.get("reply_markup"):
            fields["reply_markup"] = given["reply_markup"]
        fields["html"] = _html(given)
        return self._stored(chat, BOT, fields)

    def _stored(self, chat: Chat, by: Mapping[str, Any], fields: Mapping[str, Any]) -> Message:
        number = chat.next_id
        chat.next_id += 1
        message = {"message_id": number, "from": dict(by), "chat": chat.info, "date": START + number, **fields}
        chat.messages[number] = message
        return message

    def _upload(self, given: Parameters, files: Mapping[str, tuple[str, bytes]], key: str) -> bytes:
        value = str(given.get(key, ""))
        if value.startswith("attach://"):
            if (name := value.removeprefix("attach://")) not in files:
                raise Refusal(400, "Bad Request: there is no file in the request")
            return files[name][1]
        if value not in self.files:
            raise Refusal(400, "Bad Request: wrong remote file identifier specified")
        return self.files[value]

    async def _notify(self) -> None:
        async with self.changed:
            self.changed.notify_all()


def _text(given: Parameters, key: str, most: int) -> str:
    text = str(given.get(key, ""))
    if given.get("parse_mode") == "HTML":
        try:
            text = parsed(text)
        except NotParsed as error:
            raise Refusal(400, f"Bad Request: can't parse entities: {error}") from error
    if units(text) > most:
        raise Refusal(
            400,
            "Bad Request: message is too long" if most == MOST_UNITS else "Bad Request: message caption is too long",
        )
    return text


def _html(given: Parameters) -> str | None:
    return str(given.get("text", given.get("caption", ""))) if given.get("parse_mode") == "HTML" else None


def _mark(message: Message, markup: Any) -> None:
    if markup and markup.get("inline_keyboard"):
        message["reply_markup"] = markup
    else:
        message.pop("reply_markup", None)
