"""A NapCat that has no QQ behind it: accounts, friends and groups in this process, OneBot V11 over real sockets.

It connects to a reverse address or serves a forward one, with the token in the header as NapCat sends it, gives events
only to sockets that are open (what happens meanwhile stands in the history alone), answers each action with its echo
verbatim, and fails where a script says so.

    async with NapCat(10001) as qq:
        await qq.connect("ws://127.0.0.1:8080/onebot/v11/ws", "token")
        await qq.says(20002, "你好")
        answer = await qq.sent()
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Self

from websockets import ConnectionClosed
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import InvalidHandshake

from tests.fakes.cq import Json, Segments, at, codes, segments_of, text

SOCKET_BYTES = 50 * 1024 * 1024
PATIENCE = 20.0
"""Seconds after which a test will not see any more what it waits for."""
TIMEOUT = (
    "Timeout: NTEvent serviceAndMethod:NodeIKernelMsgService/sendMsg"
    ' ListenerName:NodeIKernelMsgListener/onMsgInfoListUpdate EventRet:\n{"result": 0, "errMsg": ""}'
)


@dataclass(frozen=True)
class Failure:
    """What is answered to an action in place of the truth."""

    retcode: int = 1200
    message: str = "failed"
    delivers: bool = False
    """Whether it is done all the same."""
    silent: bool = False
    """No answer comes."""
    hangs_up: bool = False
    """The connection ends once the action was read."""
    status: str = "failed"


@dataclass(frozen=True)
class Delivered:
    """A message that the account sent, as the people in the chat see it."""

    group: int | None
    user: int | None
    segments: Segments
    message_id: int
    file: Json = field(default_factory=dict)
    """Name and bytes of a file that was uploaded."""

    @property
    def text(self) -> str:
        return "".join(one["data"]["text"] for one in self.segments if one["type"] == "text")

    def has(self, kind: str) -> Json | None:
        return next((one["data"] for one in self.segments if one["type"] == kind), None)


Connection = ClientConnection | ServerConnection


class NapCat:
    """One account and everybody whom it can talk to."""

    def __init__(
        self,
        self_id: int = 10001,
        *,
        reports_own: bool = False,
        codes: bool = False,
        now: Callable[[], float] = time.time,
    ) -> None:
        """`reports_own`: it reports what it sends (`message_sent`); `codes`: messages come as CQ codes; `now`: seconds
        since 1970."""
        self.self_id = self_id
        self.friends = {20002: "小明", 10000: "主人"}
        self.delivered: list[Delivered] = []
        self.actions: list[Json] = []
        """Every action that was read, in order."""
        self.typing: list[Json] = []
        self.files: dict[str, bytes] = {}
        """What `get_record` and `get_file` give, by `file` or `file_id`."""
        self.urls: dict[str, str] = {}
        """What `get_image` gives as a fresh address, by `file`."""
        self.forwards: dict[str, list[Json]] = {}
        """The messages of merged forwards, by id."""
        self.silenced: dict[int, int] = {}
        """By group, until when the account is silenced there."""
        self.online = True
        self._reports_own, self._codes, self._now = reports_own, codes, now
        self._messages: dict[int, Json] = {}
        self._history: dict[tuple[str, int], list[Json]] = {}
        self._uploads: dict[str, bytes] = {}
        self.recorded: dict[str, Json] = {}
        """By action, what is answered each time in place of what this process knows; `echo` follows the question."""
        self.refusal: Json = {
            "status": "failed", "retcode": 1403, "data": None, "message": "token验证失败", "echo": None
        }  # fmt: skip
        """What a forward connection with a wrong token is told."""
        self._failures: dict[str, list[Failure]] = {}
        self._numbers = count(1)
        self._sockets: set[Connection] = set()
        self._stuck: list[Connection] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: Server | None = None
        self._news = asyncio.Condition()
        self._taken = 0
        self.refused: list[int] = []
        """The statuses with which connections were refused."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for socket in self._stuck:
            socket.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()

    # Connections

    async def connect(self, url: str, token: str, again: float | None = None, **headers: str) -> None:
        """Call a reverse address, and wait until it is open; with `again`, call once more so many seconds after each
        end. Raises `InvalidHandshake` if it is refused."""
        opened = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(self._calling(url, token, again, headers, opened))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        await opened

    async def _calling(
        self, url: str, token: str, again: float | None, headers: Mapping[str, str], opened: asyncio.Future[None]
    ) -> None:
        sent = {"X-Self-ID": str(self.self_id), "x-client-role": "Universal", "User-Agent": "OneBot/11"}
        sent |= {"Authorization": f"Bearer {token}"} if token else {}
        while True:
            try:
                async with connect(
                    url, additional_headers=sent | dict(headers), max_size=SOCKET_BYTES, proxy=None, ping_interval=None
                ) as socket:
                    await self._run(socket, opened)
            except (OSError, InvalidHandshake) as error:
                self.refused.append(getattr(getattr(error, "response", None), "status_code", 0))
                if not opened.done() and again is None:
                    opened.set_exception(error)
                    return
            if again is None:
                return
            await asyncio.sleep(again)

    async def serve(self, token: str, port: int = 0) -> str:
        """Serve a forward address, which is given."""

        async def talk(socket: ServerConnection) -> None:
            request = socket.request
            if request is None or request.headers.get("Authorization") != f"Bearer {token}":
                await socket.send(json.dumps(self.refusal, ensure_ascii=False))
                await socket.close(1000)
                return
            await self._run(socket)

        self._server = await serve(talk, "127.0.0.1", port, max_size=SOCKET_BYTES, ping_interval=None)
        return f"ws://127.0.0.1:{next(iter(self._server.sockets)).getsockname()[1]}"

    async def stop_serving(self) -> None:
        """End the forward server and its connections."""
        assert self._server is not None
        self._server.close()
        await self._server.wait_closed()
        self._server = None

    async def _run(self, socket: Connection, opened: asyncio.Future[None] | None = None) -> None:
        self._sockets.add(socket)
        try:
            await socket.send(json.dumps(self._event("meta_event", meta_event_type="lifecycle", sub_type="connect")))
            if opened is not None and not opened.done():
                opened.set_result(None)
            async for frame in socket:
                await self._acted(socket, json.loads(frame))
        except ConnectionClosed:
            pass
        finally:
            self._sockets.discard(socket)

    async def hang_up(self, *, half_open: bool = False) -> None:
        """End all connections; with `half_open` nobody at the other end is told, and nothing more is read."""
        for socket in list(self._sockets):
            if half_open:
                self._sockets.discard(socket)
                self._stuck.append(socket)
                socket.transport.pause_reading()
            else:
                await socket.close()

    @property
    def connected(self) -> int:
        return len(self._sockets)

    # What happens in QQ

    async def says(
        self, user: int, said: str | Segments, group: int | None = None, *, at_time: int | None = None, **fields: Any
    ) -> int:
        """Somebody says something, in private or in a group; the id of the message. `fields` replace those of the
        event."""
        message = self._message(user, said, group, at_time) | fields
        self._messages[message["message_id"]] = message
        self._history.setdefault(_chat(user, group), []).append(message)
        await self.event(message)
        return int(message["message_id"])

    def knows(self, message_id: int, user: int, said: str, group: int | None = None) -> None:
        """Something was said before anybody listened, under this id."""
        self._messages[message_id] = self._message(user, said, group, None) | {"message_id": message_id}

    async def recall(self, message_id: int) -> None:
        """Whoever said something takes it back."""
        message = self._messages.pop(message_id)
        kind = "group_recall" if "group_id" in message else "friend_recall"
        more = {"group_id": message["group_id"], "operator_id": message["user_id"]} if "group_id" in message else {}
        await self.event(
            self._event("notice", notice_type=kind, user_id=message["user_id"], message_id=message_id, **more)
        )

    async def notice(self, kind: str, **fields: Any) -> None:
        """Some notice."""
        await self.event(self._event("notice", notice_type=kind, **fields))

    async def beat(self, *, interval: int = 30_000) -> None:
        """A sign of life; `interval` are milliseconds until the next."""
        status = {"online": self.online, "good": True}
        await self.event(self._event("meta_event", meta_event_type="heartbeat", status=status, interval=interval))

    async def event(self, event: Json) -> None:
        """Give an event to every connection that is open. Nobody keeps it for the others."""
        frame = json.dumps(event, ensure_ascii=False)
        for socket in list(self._sockets):
            with suppress(ConnectionClosed):
                await socket.send(frame)

    def fails(self, action: str, *failures: Failure) -> None:
        """What is answered to the next calls of an action, one after the other."""
        self._failures.setdefault(action, []).extend(failures)

    # What is seen of it

    async def sent(self, number: int = 1) -> list[Delivered]:
        """The next `number` messages that the account sends, from where the last look ended."""
        await self.until(lambda: len(self.delivered) >= self._taken + number)
        found = self.delivered[self._taken : self._taken + number]
        self._taken += number
        return found

    @property
    def untaken(self) -> int:
        """How many messages were sent since the last look."""
        return len(self.delivered) - self._taken

    async def until(self, true: Callable[[], bool]) -> None:
        """Wait until something is so: after each action that was read."""
        async with asyncio.timeout(PATIENCE), self._news:
            await self._news.wait_for(true)

    def called(self, action: str) -> list[Json]:
        """The parameters of each call of an action."""
        return [one["params"] for one in self.actions if one["action"] == action]

    # Actions

    async def _acted(self, socket: Connection, asked: Json) -> None:
        action, parameters = str(asked.get("action")), dict(asked.get("params") or {})
        parameters.pop("self_id", None)  # some name the account; there is one
        self.actions.append(asked)
        failures = self._failures.get(action)
        failure = failures.pop(0) if failures else None
        answer: Json
        if failure is None or failure.delivers:
            answer = self._done(action, parameters)
        if failure is not None and (not failure.delivers or failure.status != "ok"):
            answer = _no(failure.retcode, failure.message) | {"status": failure.status}
        answer = self.recorded.get(action, answer)
        async with self._news:
            self._news.notify_all()
        if failure is not None and failure.hangs_up:
            await socket.close()
        elif failure is None or not failure.silent:
            await socket.send(json.dumps({"stream": "normal-action"} | answer | {"echo": asked.get("echo")}))
        own = self._reports_own and action.startswith("send_") and action not in self.recorded
        if own and answer["status"] == "ok":
            sent = self._messages[answer["data"]["message_id"]]
            await self.event(sent | {"post_type": "message_sent", "message_sent_type": "self"})

    def _done(self, action: str, parameters: Json) -> Json:
        found = getattr(self, f"_do_{action.lstrip('.')}", None)
        if found is None:
            return _no(1404, f"不支持的Api {action}")
        try:
            done: Json = found(**parameters)
        except (TypeError, KeyError, ValueError) as error:
            return _no(1400, f"{type(error).__name__}: {error}")
        return done

    def _do_send_private_msg(self, user_id: Any, message: Any, **_: Any) -> Json:
        return self._send(int(user_id), None, message)

    def _do_send_group_msg(self, group_id: Any, message: Any, **_: Any) -> Json:
        return self._send(None, int(group_id), message)

    def _do_send_msg(self, message: Any, user_id: Any = None, group_id: Any = None, **_: Any) -> Json:
        return self._send(None if group_id else int(user_id), int(group_id) if group_id else None, message)

    def _send(self, user: int | None, group: int | None, message: Any) -> Json:
        if group is not None and self.silenced.get(group, 0) > self._now():
            return _no(1200, 'EventChecker Failed: NTEvent sendMsg EventRet:\n{"result": 120, "errMsg": "禁言中"}')
        segments = [
            one for one in segments_of(message)
            if one["type"] != "reply" or int(one["data"]["id"]) in self._messages
        ]  # fmt: skip
        if not segments:
            return _no(1200, "消息体无法解析, 请检查是否发送了不支持的消息类型")
        stored = self._message(self.self_id, segments, group, None, to=user)
        self._messages[stored["message_id"]] = stored
        self._history.setdefault(_chat(user or 0, group), []).append(stored)
        self.delivered.append(Delivered(group, user, segments, stored["message_id"]))
        return _ok({"message_id": stored["message_id"]})

    def _do_upload_private_file(self, user_id: Any, file: str, name: str, **_: Any) -> Json:
        return self._upload(int(user_id), None, file, name)

    def _do_upload_group_file(self, group_id: Any, file: str, name: str, **_: Any) -> Json:
        return self._upload(None, int(group_id), file, name)

    def _upload(self, user: int | None, group: int | None, file: str, name: str) -> Json:
        self.delivered.append(Delivered(group, user, [], 0, {"name": name, "data": self.bytes_of(file)}))
        return _ok({"file_id": f"/{name}"})

    def _do_upload_file_stream(self, stream_id: str, **chunk: Any) -> Json:
        if chunk.get("is_complete"):
            return _ok({"status": "file_complete", "file_path": f"/tmp/napcat/{stream_id}"})
        self._uploads[stream_id] = self._uploads.get(stream_id, b"") + base64.b64decode(chunk["chunk_data"])
        return _ok({"status": "chunk_received", "received_chunks": chunk["chunk_index"] + 1})

    def bytes_of(self, file: str) -> bytes:
        """The bytes of what was sent as a file."""
        if file.startswith("base64://"):
            return base64.b64decode(file.removeprefix("base64://"))
        return self._uploads[file.rpartition("/")[2]]

    def _do_get_msg(self, message_id: Any) -> Json:
        found = self._messages.get(int(message_id))
        return _ok(found) if found else _no(1200, "消息不存在")

    def _do_get_forward_msg(self, message_id: Any = None, **more: Any) -> Json:
        found = self.forwards.get(str(message_id or more.get("id")))
        return (
            _ok({"messages": found}) if found is not None else _no(1200, "消息已过期或者为内层消息，无法获取转发消息")
        )

    def _do_get_friend_msg_history(self, user_id: Any, count: int = 20, **_: Any) -> Json:
        return _ok({"messages": self._history.get(("private", int(user_id)), [])[-int(count) :]})

    def _do_get_group_msg_history(self, group_id: Any, count: int = 20, **_: Any) -> Json:
        return _ok({"messages": self._history.get(("group", int(group_id)), [])[-int(count) :]})

    def _do_get_image(self, file: str, **_: Any) -> Json:
        if file not in self.urls:
            return _no(1200, "file not found")
        return _ok({"file": f"/app/{file}", "url": self.urls[file], "file_size": "9", "file_name": file})

    def _do_get_record(self, file: str, out_format: str = "", **_: Any) -> Json:
        return self._given(file, f"{file}.{out_format}")

    def _do_get_file(self, file_id: str = "", file: str = "", **_: Any) -> Json:
        return self._given(file_id or file, file)

    def _given(self, name: str, file_name: str) -> Json:
        if name not in self.files:
            return _no(1200, "file not found")
        data = self.files[name]
        return _ok({"file": f"/p/{name}", "url": f"/p/{name}", "file_size": str(len(data)), "file_name": file_name}
                   | {"base64": base64.b64encode(data).decode()})  # fmt: skip

    def _do_get_private_file_url(self, file_id: str, **_: Any) -> Json:
        return _ok({"url": self.urls[file_id]}) if file_id in self.urls else _no(1200, "file not found")

    _do_get_group_file_url = _do_get_private_file_url

    def _do_set_input_status(self, user_id: str, event_type: int) -> Json:
        self.typing.append({"user_id": user_id, "event_type": event_type})
        return _ok({"result": 0, "errMsg": ""})

    def _do_get_login_info(self) -> Json:
        return _ok({"user_id": self.self_id, "nickname": "bot"})

    def _do_get_status(self) -> Json:
        return _ok({"online": self.online, "good": True, "stat": {}})

    def _do_get_group_member_info(self, group_id: Any, user_id: Any, **_: Any) -> Json:
        until = self.silenced.get(int(group_id), 0)
        return _ok({"group_id": int(group_id), "user_id": int(user_id), "nickname": "bot", "shut_up_timestamp": until})

    def _do_delete_msg(self, message_id: Any) -> Json:
        return _ok(None) if self._messages.pop(int(message_id), None) else _no(1200, "消息不存在")

    def _do_handle_quick_operation_async(self, context: Json, operation: Json) -> Json:
        return self._do_handle_quick_operation(context, operation)

    def _do_handle_quick_operation(self, context: Json, operation: Json) -> Json:
        """What a framework answers to an event without naming an action."""
        if said := operation.get("reply"):
            group = context.get("group_id")
            asked = [at(context["user_id"]), text(" ")] if group and operation.get("at_sender", True) else []
            self._send(None if group else int(context["user_id"]), group, [*asked, *segments_of(said)])
        return _ok(None)

    # Values

    def _event(self, post_type: str, **fields: Any) -> Json:
        return {"time": int(self._now()), "self_id": self.self_id, "post_type": post_type} | fields

    def _message(
        self, user: int, said: str | Segments, group: int | None, at_time: int | None, to: int | None = None
    ) -> Json:
        segments = [text(said)] if isinstance(said, str) else said
        number = next(self._numbers)
        message_id = _int32(f"{self.self_id}-{number}|{group or to or user}")
        sender: Json = {"user_id": user, "nickname": self.friends.get(user, f"用户{user}"), "card": ""}
        written = codes(segments)
        message = self._event(
            "message", user_id=user, message_id=message_id, message_seq=message_id, real_id=message_id,
            real_seq=str(number), sender=sender, raw_message=written, font=14, sub_type="friend",
            message_type="private", message=written if self._codes else segments,
            message_format="string" if self._codes else "array", target_id=to or self.self_id,
        )  # fmt: skip
        if group is not None:
            sender["role"] = "member"
            message |= {"message_type": "group", "sub_type": "normal", "group_id": group, "group_name": f"群{group}"}
        if at_time is not None:
            message["time"] = at_time
        return message


def _chat(user: int, group: int | None) -> tuple[str, int]:
    return ("group", group) if group is not None else ("private", user)


def _ok(data: Any) -> Json:
    return {"status": "ok", "retcode": 0, "data": data, "message": "", "wording": ""}


def _no(retcode: int, message: str) -> Json:
    return {"status": "failed", "retcode": retcode, "data": None, "message": message, "wording": message}


def _int32(name: str) -> int:
    """As NapCat makes the id of a message: part of a hash, so that the same message always has the same."""
    return int.from_bytes(hashlib.md5(name.encode()).digest()[:4], "big") & 0x7FFFFFFF
