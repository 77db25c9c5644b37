"""What a server asks a person while it works on a call (elicitation): field by field, checked, and bounded.

An answer goes back to the server and nowhere else. A server that asks for too much gets no answer, and whoever said no
once is not asked again within the same call.
"""

from __future__ import annotations

import asyncio
import dataclasses
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from qingtuan.language import Words
from qingtuan.mcp_client.asking import People, Question, Said
from qingtuan.mcp_client.config import ServerConfig
from qingtuan.mcp_client.form import LISTED, Field, NoForm, Unfit, Value, fields_of
from qingtuan.tools.plain import covered
from qingtuan.tools.strict_json import MAX_DEPTH, canonical, deeper_than
from qingtuan.tools.tool import ToolContext

if TYPE_CHECKING:
    from mcp_types import ElicitRequestParams, ElicitResult, ErrorData

MAX_ASKED = 5
"""Times that a server may ask within one call."""
MAX_WRONG = 3
"""Answers to one field that do not fit, before it is given up."""
MAX_SCHEMA = 32 * 1024
"""Characters of a form's schema."""
MAX_ADDRESS = 2_000


@dataclass(slots=True)
class Eliciting:
    """Asks on behalf of one call of a server."""

    config: ServerConfig
    people: People
    context: ToolContext
    asked: int = 0
    refused: bool = False
    """Whether the person declined once: then they are left in peace."""
    turns: asyncio.Lock = dataclasses.field(default_factory=asyncio.Lock)
    """Held by what is being asked: the next may be put only when it is known how this one ended."""

    async def answer(self, params: ElicitRequestParams) -> ElicitResult | ErrorData:
        """What a server gets to a question of its."""
        from mcp_types import INVALID_PARAMS, ElicitRequestURLParams, ElicitResult, ErrorData

        self.asked += 1
        if self.asked > MAX_ASKED and not self.refused:  # said at once, so that no more than that ever wait
            return ErrorData(code=INVALID_PARAMS, message=f"at most {MAX_ASKED} questions are asked for one call")
        async with self.turns:
            if self.refused:
                return ElicitResult(action="decline")
            try:
                if isinstance(params, ElicitRequestURLParams):
                    return await self._visit(params.message, params.url)
                return await self._fill(params.message, params.requested_schema)
            except NoForm as error:
                return ErrorData(code=INVALID_PARAMS, message=str(error))

    # Forms

    async def _fill(self, message: str, schema: Mapping[str, Any]) -> ElicitResult:
        from mcp_types import ElicitResult

        if deeper_than(schema, MAX_DEPTH) or len(canonical(schema)) > MAX_SCHEMA:
            raise NoForm("the form is too large")
        fields = fields_of(schema)
        content: dict[str, Any] = {}
        if not fields:
            said = await self._ask(message, choices=(_OK.say(self.context.language),))
            return _ended(said) if said.kind != "answered" else ElicitResult(action="accept", content={})
        for number, field in enumerate(fields, 1):
            place = (
                Words(f"（{number}/{len(fields)}）", f"({number}/{len(fields)})") if len(fields) > 1 else Words("", "")
            )
            value = await self._filled(field, message if number == 1 else "", place)
            if isinstance(value, Said):
                return _ended(value)
            if value is not None:
                content[field.name] = value
        return ElicitResult(action="accept", content=content)

    async def _filled(self, field: Field, message: str, place: Words) -> Value | Said | None:
        """The value of a field, None if it is left open, or how the whole form ended."""
        text = "\n".join(filter(None, (message.strip(), field.label, _further(field))))
        why = Words("", "")
        for _ in range(MAX_WRONG):
            parts = [one for one in (place, why, field.hint) if one.zh]
            hint = Words("".join(one.zh for one in parts), " ".join(one.en for one in parts))
            said = await self._ask(text, field, hint=hint)
            if said.kind == "skipped":
                return field.default
            if said.kind != "answered":
                return said
            try:
                return field.read(said.text, said.picks)
            except Unfit as error:
                why = Words(f"刚才的不行：{error.words.zh}", f"That did not do: {error.words.en}")
        return Said("cancelled")

    async def _ask(
        self,
        text: str,
        field: Field | None = None,
        *,
        choices: tuple[str, ...] = (),
        hint: Words | None = None,
        link: str = "",
    ) -> Said:
        values: tuple[str, ...] = ()
        if field is not None and field.kind == "truth":
            choices = (_TRUE.say(self.context.language), _FALSE.say(self.context.language))
        elif field is not None and field.options[LISTED:] == ():
            choices = tuple(option.title for option in field.options)
            values = tuple(option.value for option in field.options)
        secrets = self.config.secrets
        question = Question(
            server=self.config.name,
            trusted=self.config.trusted,
            text=covered(text, secrets),
            choices=tuple(covered(choice, secrets) for choice in choices),
            values=tuple(covered(value, secrets) for value in values),
            several=field is not None and field.kind == "choices" and bool(choices),
            hint=hint if hint is not None and hint.zh else None,
            link=link,
            may_skip=field is not None and field.may_skip,
        )
        with self.context.asking():
            said = await self.people.ask(question, self.context)
        self.refused = self.refused or said.kind == "declined"
        return said

    # Addresses

    async def _visit(self, message: str, url: str) -> ElicitResult:
        """Show an address for the person to open. Nothing is fetched: to agree is all that is told."""
        from mcp_types import ElicitResult

        hint = _address_hint(url)
        said = await self._ask(message, choices=(_OPEN.say(self.context.language),), hint=hint, link=url)
        return ElicitResult(action="accept") if said.kind == "answered" else _ended(said)

    async def visited(self, message: str, url: str) -> bool:
        """Show an address that must be dealt with before a call can go on. Whether the person says that it was.

        Raises:
            NoForm: it is none that a person should open.
        """
        self.asked += 1
        if self.asked > MAX_ASKED:
            return False
        async with self.turns:
            if self.refused:
                return False
            choices = (_DONE.say(self.context.language),)
            said = await self._ask(message, choices=choices, hint=_address_hint(url), link=url)
            return said.kind == "answered"


def _ended(said: Said) -> ElicitResult:
    from mcp_types import ElicitResult

    return ElicitResult(action="decline" if said.kind == "declined" else "cancel")


def _further(field: Field) -> str:
    """Options that are too many to be numbered, within the question."""
    if len(field.options) <= LISTED:
        return ""
    return " | ".join(
        option.title if option.title == option.value else f"{option.title} = {option.value}" for option in field.options
    )


def _address_hint(url: str) -> Words:
    """What code knows of an address. Raises `NoForm` for one that nobody should open."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise NoForm("the address cannot be read") from None
    if parts.scheme not in ("http", "https") or not host or "@" in parts.netloc or len(url) > MAX_ADDRESS:
        raise NoForm("the address is no plain https address")
    if not url.isprintable() or any(letter in url for letter in ' \\"<>`'):
        raise NoForm("the address holds what no address holds")
    near = _is_near(host)
    if parts.scheme == "http" and not near:
        raise NoForm("the address is not https")
    try:
        name = host if host.isascii() else host.encode("idna").decode()
    except UnicodeError:
        raise NoForm("the address has no usable host") from None
    shown = f"{name}:{port}" if port else name
    if near:
        return Words(
            f"主机是 {shown}。注意：那是这台机器或你家里网络上的地址。",
            f"Its host is {shown}. Careful: that is this machine, or within your own network.",
        )
    return Words(f"主机是 {shown}。", f"Its host is {shown}.")


def _is_near(host: str) -> bool:
    if host.lower().rstrip(".") == "localhost" or host.lower().rstrip(".").endswith((".localhost", ".local", ".lan")):
        return True
    try:
        return not ipaddress.ip_address(host.strip("[]")).is_global
    except ValueError:
        return host.replace(".", "").isdigit() or host.lower().startswith("0x")


_OK = Words("好", "OK")
_TRUE = Words("是", "yes")
_FALSE = Words("否", "no")
_OPEN = Words("我来打开", "I open it")
_DONE = Words("在那边办好了", "it is done there")
