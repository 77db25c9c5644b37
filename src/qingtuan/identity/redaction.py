"""Masks secrets before a text becomes a belief, a summary, a log line or a notice to somebody else. Pure.

Keys and tokens of the common makers, passwords, private keys, bearer headers, identity-card numbers with a
valid check digit, bank cards by Luhn, mainland mobile numbers and login codes (identity.md, Secrets). The text is
read as a person reads it: full-width letters count as plain ones and invisible characters as none. Every pattern
takes time linear in the text: none can fail after a long match and begin again inside it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from qingtuan.identity.numbers import number_spans
from qingtuan.language import Language, Words


class Secret(StrEnum):
    """A kind of secret."""

    API_KEY = "api_key"
    PASSWORD = "password"  # noqa: S105 (a name)
    PRIVATE_KEY = "private_key"
    BEARER = "bearer"
    ID_CARD = "id_card"
    BANK_CARD = "bank_card"
    PHONE = "phone"
    LOGIN_CODE = "login_code"

    @property
    def words(self) -> Words:
        """What a person calls it; stands in the mask, and in questions (会发送：API 密钥)."""
        return _NAMES[self]


_NAMES = {
    Secret.API_KEY: Words("API 密钥", "API key"),
    Secret.PASSWORD: Words("密码", "password"),
    Secret.PRIVATE_KEY: Words("私钥", "private key"),
    Secret.BEARER: Words("访问令牌", "access token"),
    Secret.ID_CARD: Words("身份证号", "identity card number"),
    Secret.BANK_CARD: Words("银行卡号", "bank card number"),
    Secret.PHONE: Words("手机号", "mobile number"),
    Secret.LOGIN_CODE: Words("登录二维码", "login code"),
}


@dataclass(frozen=True, slots=True)
class Masked:
    """A text with its secrets covered, and which kinds there were, in order of first appearance."""

    text: str
    kinds: tuple[Secret, ...]


def mask(text: str, *, keep_phone: bool = False, language: Language = "zh") -> Masked:
    """Cover every secret in `text`. What was masked once stays as it is.

    With `keep_phone` mobile numbers stay: an explicit `/memory add` in private may hold them.
    """
    pieces: list[str] = []
    kinds: dict[Secret, None] = {}
    end = 0
    for start, stop, kind in _spans(text, keep_phone=keep_phone):
        pieces += (text[end:start], _COVER.say(language).format(name=kind.words.say(language)))
        kinds[kind] = None
        end = stop
    return Masked("".join((*pieces, text[end:])), tuple(kinds))


def secrets_in(text: str) -> tuple[Secret, ...]:
    """The kinds of secrets in `text`, in order of first appearance."""
    return tuple(dict.fromkeys(kind for _, _, kind in _spans(text)))


def has_secret(text: str) -> bool:
    """Whether `text` holds any secret."""
    return bool(_spans(text))


_COVER = Words("[已隐去：{name}]", "[hidden: {name}]")
_COVERED = re.compile(r"\[(?:已隐去:[^\[\]]{1,12}|hidden: [^\[\]]{1,24})\]")
_VOID = "\0"
"""Stands for each character of a mask while secrets are sought: no pattern reaches into one."""

Span = tuple[int, int, Secret]


def _spans(text: str, *, keep_phone: bool = False) -> list[Span]:
    """Where secrets stand in `text`: in order, without overlap."""
    plain, places = readable(text)
    plain = _COVERED.sub(lambda cover: _VOID * len(cover[0]), plain)
    spans = (span for find in _FINDERS for span in find(plain))
    found = sorted(span for span in spans if not (keep_phone and span[2] is Secret.PHONE))
    result: list[Span] = []
    for start, stop, kind in found:
        first, last = places[start], places[stop - 1] + 1
        if result and first < result[-1][1]:
            before = result.pop()
            result.append((before[0], max(before[1], last), before[2]))
        else:
            result.append((first, last, kind))
    return result


def readable(text: str) -> tuple[str, range | list[int]]:
    """`text` as a person reads it: NFKC letter by letter, invisible characters dropped; and for each character of
    that the position in `text` where it came from."""
    if text.isascii():
        return text, range(len(text))
    letters: list[str] = []
    places: list[int] = []
    known: dict[str, str] = {}
    for place, letter in enumerate(text):
        plain = letter if letter < "\x80" else known.get(letter)
        if plain is None:
            plain = known[letter] = _plain(letter)
        letters.append(plain)
        places.extend([place] * len(plain))
    return "".join(letters), places


def has_invisible(text: str) -> bool:
    """Whether `text` holds characters that nobody sees, or that are laid over others."""
    return not text.isascii() and any(unicodedata.category(letter) in _INVISIBLE for letter in text)


_INVISIBLE = ("Cf", "Mn", "Me")
"""Zero-width and direction marks and the soft hyphen; variation selectors and combining marks."""


def _plain(letter: str) -> str:
    return "" if unicodedata.category(letter) in _INVISIBLE else unicodedata.normalize("NFKC", letter)


_KEY_SHAPES = (
    # our own
    r"qt_[A-Za-z0-9_-]{43}",
    # OpenAI, Anthropic, DeepSeek, DashScope; "sk-" also begins names such as sk-learn-contrib-tools
    r"sk-(?=[A-Za-z_-]{0,40}\d|[A-Za-z_-]{0,20}[A-Za-z]{16})[A-Za-z0-9_-]{16,}",
    r"gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}",
    r"gl(?:pat|dt|rt|ptt|oas|ft|soat|cbt|agent|imt)-[A-Za-z0-9_-]{16,}",
    r"xox[a-z]-[A-Za-z0-9-]{10,}|xapp-\d-[A-Za-z0-9-]{10,}",
    r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
    r"AIza[A-Za-z0-9_-]{30,}|ya29\.[A-Za-z0-9_-]{20,}|GOCSPX-[A-Za-z0-9_-]{20,}",
    r"(?:bot)?\d{8,10}:[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",  # Telegram, also within its URLs
    r"hf_[A-Za-z0-9]{20,}|npm_[A-Za-z0-9]{30,}|pypi-[A-Za-z0-9_-]{40,}",
    r"(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,}|SG\.[A-Za-z0-9_-]{16,40}\.[A-Za-z0-9_-]{30,}",
    r"(?:gsk|r8|xai|pplx|tvly|ntn)[_-](?=[A-Za-z_-]{0,40}\d)[A-Za-z0-9_-]{20,}",
    r"LTAI[A-Za-z0-9]{12,}|AKID[A-Za-z0-9]{28,}",  # Alibaba Cloud, Tencent Cloud
    r"[0-9a-f]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9])",  # Zhipu
)
_KEYS = re.compile(rf"(?<![A-Za-z0-9])(?:{'|'.join(_KEY_SHAPES)})")
_JWT = re.compile(r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*")
_SLACK_HOOK = re.compile(r"hooks\.slack\.com/(?:services|workflows)/[A-Za-z0-9/_-]{10,}")
_USERINFO = re.compile(r"(?<=://)[^\s\0/@:]{1,64}:[^\s\0/@]{1,128}(?=@)")
_LABELLED_KEY = re.compile(
    r"(?:api[ _-]?key|access[ _-]?key|secret[ _-]?key|(?:access|auth|refresh|bot|id|session)[ _-]?token|token|secret"
    r"|密钥|令牌|秘钥)[\"']?\s{0,4}(?:是|为|is|[:=])\s{0,4}[\"']?(?P<value>[A-Za-z0-9_./+~-]{8,}={0,2})",
    re.IGNORECASE,
)
_BEARER = re.compile(r"(?<![A-Za-z])bearer\s{1,4}(?P<value>[A-Za-z0-9._~+/-]{8,}={0,2})", re.IGNORECASE)
_HEADER = re.compile(
    r"authorization[\"']?\s{0,4}[:=]\s{0,4}[\"']?[A-Za-z]{1,16}\s{1,4}(?P<value>[A-Za-z0-9._~+/-]{4,}={0,2})",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"https?://(?:txz\.qq\.com/p\?k=|login\.weixin\.qq\.com/[a-z]/|open\.weixin\.qq\.com/connect/confirm\?"
    r"|(?:liteapp\.)?weixin\.qq\.com/[gqx]/|(?:ssl\.)?ptlogin2\.qq\.com/)[^\s\0\"'<>]{1,}"
    r"|tg://login\?token=[^\s\0\"'<>]{1,}|otpauth://[^\s\0\"'<>]{1,}|WIFI:[^\r\n\0]{1,200}?;;|(?<=[?&]qrcode=)[^\s\0&\"'<>]{6,}"
)
_PEM_BEGIN = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_END = re.compile(r"-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")
_PEM_BODY = re.compile(r"[A-Za-z0-9+/=\s\\:,.]*")


def _keys(text: str) -> Iterator[Span]:
    for pattern in (_KEYS, _JWT, _SLACK_HOOK):
        for found in pattern.finditer(text):
            yield *found.span(), Secret.API_KEY
    for found in _LABELLED_KEY.finditer(text):
        if _looks_random(found["value"]):
            yield *found.span("value"), Secret.API_KEY


def _bearers(text: str) -> Iterator[Span]:
    for found in _BEARER.finditer(text):
        if _looks_random(found["value"]):
            yield *found.span("value"), Secret.BEARER
    for found in _HEADER.finditer(text):
        yield *found.span("value"), Secret.BEARER


def _looks_random(value: str) -> bool:
    """Words of a sentence hold no digits; keys do, or are longer than any word."""
    return any(letter.isdigit() for letter in value) or len(value) >= 32


def _private_keys(text: str) -> Iterator[Span]:
    place = 0
    while begin := _PEM_BEGIN.search(text, place):
        end = _PEM_END.search(text, begin.end())
        if end is None:
            # Cut off: its body is masked as far as it goes. No later key can end either.
            for cut in (begin, *_PEM_BEGIN.finditer(text, begin.end())):
                body = _PEM_BODY.match(text, cut.end())
                yield cut.start(), body.end() if body else cut.end(), Secret.PRIVATE_KEY
            return
        yield begin.start(), end.end(), Secret.PRIVATE_KEY
        place = end.end()


_PASSWORD_LABEL = re.compile(
    r"(?:密码|密碼|口令|passwords?|passwd|passphrase|passcode|(?<![A-Za-z])pwd|(?<![A-Za-z])pin(?: ?码)?(?![A-Za-z]))"
    r"[\"']?",
    re.IGNORECASE,
)
_BETWEEN = re.compile(
    r"\s{0,4}(?P<sign>是|为|為|设为|改成|改为|is|[:=]|->|→)?\s{0,4}(?P<quote>[\"'“‘「『]?)", re.IGNORECASE
)
_CLOSING = {'"': '"', "'": "'", "“": "”", "‘": "’", "「": "」", "『": "』"}
_RUN = re.compile(r"[^\s\0，。；、]{3,}")
_TYPED = re.compile(r"[!-~]{3,512}")
_CHINESE = re.compile(r"[\u4e00-\u9fffA-Za-z0-9]{3,16}(?=[\s,.;!?、。…\"'”’」』)]|$)")
_ASKS = re.compile(r"[什多啥哪不谁怎几错对很我你他她它这那用由在以一必可有没随需请忘还要会被也都就和与或初默空安]")
"""First characters of what people say about a password rather than of one (密码是什么, 密码是错的)."""
_SAYS = re.compile(
    r"(?:a|an|the|not|no|too|so|very|still|now|also|only|never|always|being|been|in|on|at|to|for|with|what|which|why|how"
    r"|wrong|right|incorrect|correct|invalid|valid|required|needed|missing|empty|blank|optional|mandatory|set|reset"
    r"|changed|stored|saved|kept|hidden|masked|encrypted|hashed|weak|strong|safe|secure|secret|expired|old|new|same"
    r"|different|longer|shorter|your|my|his|her|their|our|it|that|this)(?![A-Za-z0-9])",
    re.IGNORECASE,
)


def _passwords(text: str) -> Iterator[Span]:
    covered = 0
    for label in _PASSWORD_LABEL.finditer(text):
        between = _BETWEEN.match(text, label.end())
        if between is None or between.end() < covered or text.startswith(_VOID, between.end()):
            continue
        start = between.end()
        stop = _quoted_end(text, start, between["quote"]) or _password_end(text, start, between["sign"])
        if stop is not None:
            covered = stop
            yield start, stop, Secret.PASSWORD


def _quoted_end(text: str, start: int, quote: str) -> int | None:
    if not quote:
        return None
    stop = text.find(_CLOSING[quote], start, start + 256)
    while stop > start and text[stop - 1] == "\\":
        stop = text.find(_CLOSING[quote], stop + 1, start + 256)
    return stop if stop > start else None


def _password_end(text: str, start: int, sign: str | None) -> int | None:
    """Where a password that begins at `start` ends, or None if none does.

    After `:` or `=` anything is one; after "is" whatever is no plain word about passwords; with nothing between,
    letters with digits.
    """
    if sign in (":", "=", "->", "→"):
        found = _RUN.match(text, start)
    else:
        found = _TYPED.match(text, start) or (_CHINESE.match(text, start) if sign else None)
        if found is None or _ASKS.match(found[0]) or _SAYS.match(found[0]):
            return None
        if sign is None and not any(letter.isdigit() for letter in found[0]):
            return None
    value = found[0].rstrip("\"',.;:!?)]}") if found else ""
    return start + len(value) if len(value) >= 3 else None


def _login_codes(text: str) -> Iterator[Span]:
    for found in _LOGIN.finditer(text):
        yield *found.span(), Secret.LOGIN_CODE


def _userinfo(text: str) -> Iterator[Span]:
    for found in _USERINFO.finditer(text):
        yield *found.span(), Secret.PASSWORD


def _numbers(text: str) -> Iterator[Span]:
    for start, stop, kind in number_spans(text):
        yield start, stop, Secret(kind)


_FINDERS: tuple[Callable[[str], Iterator[Span]], ...] = (
    _keys,
    _bearers,
    _private_keys,
    _passwords,
    _userinfo,
    _login_codes,
    _numbers,
)
