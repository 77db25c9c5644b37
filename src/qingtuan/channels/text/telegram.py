"""Parts of a message for Telegram: its HTML, with the same as plain text should it refuse that."""

from __future__ import annotations

import re
from html import escape

from qingtuan.channels.base import Part
from qingtuan.channels.text.bubbles import bubbled
from qingtuan.channels.text.cutting import Measure, pack
from qingtuan.channels.text.layout import Look, lay_out, linked
from qingtuan.channels.text.letters import utf16
from qingtuan.channels.text.marking import marked
from qingtuan.channels.text.model import Block, Run, Style
from qingtuan.channels.text.reading import LANGUAGE, tree_of
from qingtuan.messages import Outbound
from qingtuan.settings.channels import Manners

LIMIT = 4096
"""UTF-16 units of a message after its markup was read (Bot API, sendMessage)."""
MOST_ENTITIES = 100
"""Stretches with a style in one message (Bot API); what is more is shown without."""
_LOOK = Look(quotes="style", widest=44)
_SCHEME = re.compile(r"(?:https?|mailto|tel):\S+")
"""Not Telegram's own addresses: by those somebody is called, joined to something, or logged in, behind other words."""
_TAGS = {
    "quote": ("<blockquote>", "</blockquote>"),
    "bold": ("<b>", "</b>"),
    "italic": ("<i>", "</i>"),
    "strike": ("<s>", "</s>"),
    "code": ("<code>", "</code>"),
}


def parts(message: Outbound, manners: Manners) -> list[Part]:
    """The parts of a message in their order; files stand behind the text."""
    blocks = [_legal(block) for block in lay_out(tree_of(message), _LOOK)]
    stretches = [
        runs for group in bubbled(blocks, message, manners.bubbles, _MEASURE) for runs in pack(group, _MEASURE)
    ]
    shown = [
        Part(marked(runs, _signs, lambda run: escape(run.text, quote=False)), plain="".join(map(linked, runs)))
        for runs in stretches
    ]
    return [*shown, *(Part(attachment=attached) for attached in message.attachments)]


def _legal(block: Block) -> Block:
    return Block(block.kind, tuple(Run(run.text, _styles(run)) for run in block.runs), block.apart)


def _styles(run: Run) -> tuple[Style, ...]:
    """The styles that Telegram lets stand together: code has none but a quote around it, a link no code in it."""
    if not run.text.strip():
        return tuple(style for style in run.styles if style.kind in ("quote", "pre"))
    styles = dict.fromkeys(style for style in run.styles if style.kind != "link" or _SCHEME.fullmatch(style.value))
    if run.has("pre"):
        return tuple(style for style in styles if style.kind in ("quote", "pre"))
    if run.has("code") and not any(style.kind == "link" for style in styles):
        return tuple(style for style in styles if style.kind in ("quote", "code"))
    order = ("quote", "link", "bold", "italic", "strike")
    return tuple(sorted((style for style in styles if style.kind in order), key=lambda style: order.index(style.kind)))


def _signs(style: Style) -> tuple[str, str]:
    if style.kind == "link":
        return f'<a href="{escape(style.value)}">', "</a>"
    if style.kind == "pre":
        if LANGUAGE.fullmatch(style.value):
            return f'<pre><code class="language-{escape(style.value)}">', "</code></pre>"
        return "<pre>", "</pre>"
    return _TAGS[style.kind]


def _around(run: Run) -> int:
    # The plain text must not be too long either: it has the addresses in it.
    return utf16(linked(run)) - utf16(run.text)


_MEASURE = Measure(LIMIT, utf16, _around, lambda run: len(run.styles), MOST_ENTITIES)
