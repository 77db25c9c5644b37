"""Cuts laid out text into parts that a platform takes: at the end of a paragraph, a line, a sentence, a word; never
inside a character, a link or an address. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from qingtuan.channels.text.layout import linked
from qingtuan.channels.text.letters import between
from qingtuan.channels.text.model import Block, Run, Runs

_ADDRESS = re.compile(r"(?:https?|tg|mailto)://?[!-~]+")
LONGEST_ADDRESS = 2048
"""Characters of an address that is kept in one piece. No browser takes a longer one."""
_SENTENCE = re.compile(r"[。！？!?…；;]+[\"'”’」』）)]*|\.(?=\s)")
_WORD = re.compile(r"[\s，、,：:]")
_Limits = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Measure:
    """How a platform counts."""

    limit: int
    """The most that one part may have, in the units of `text`."""
    text: Callable[[str], int]
    """The length of a text."""
    around: Callable[[Run], int] = lambda _: 0
    """What the styles of a run add to its length at most."""
    entities: Callable[[Run], int] = lambda _: 0
    """How many entities a run makes at most."""
    most_entities: int = 1 << 30

    def of(self, run: Run) -> _Limits:
        """Length and entities of a run."""
        return self.text(run.text) + self.around(run), self.entities(run)


@dataclass(slots=True)
class _Part:
    """A part that is being filled."""

    measure: Measure
    runs: list[Run] = field(default_factory=list)
    used: _Limits = (0, 0)

    def fits(self, runs: Sequence[Run]) -> bool:
        used = self.used
        for run in runs:
            used = _sum(used, self.measure.of(run))
            if used[0] > self.measure.limit or used[1] > self.measure.most_entities:
                return False
        return True

    def add(self, runs: Sequence[Run]) -> None:
        self.runs += runs
        for run in runs:
            self.used = _sum(self.used, self.measure.of(run))

    @property
    def room(self) -> _Limits:
        return self.measure.limit - self.used[0], self.measure.most_entities - self.used[1]


def _sum(one: _Limits, other: _Limits) -> _Limits:
    return one[0] + other[0], one[1] + other[1]


def fits(blocks: Sequence[Block], measure: Measure) -> bool:
    """Whether the blocks go into one part."""
    gaps = [Run("\n\n")] * (len(blocks) - 1)
    return _Part(measure).fits([*gaps, *(run for block in blocks for run in block.runs)])


def pack(blocks: Sequence[Block], measure: Measure) -> list[Runs]:
    """The blocks in as many parts as they need. A block that fits into a part is not cut, unless it is text and the
    part before it would stay half empty."""
    return [trimmed for runs in _packed(blocks, measure) if (trimmed := _trimmed(runs))]


def _packed(blocks: Sequence[Block], measure: Measure) -> Iterator[Runs]:
    part = _Part(measure)
    for block in blocks:
        gap = [Run("\n\n" if block.apart else "\n")] if part.runs else []
        runs = block.runs
        if part.fits([*gap, *runs]):
            part.add([*gap, *runs])
            continue
        whole = _Part(measure).fits(runs)
        if part.runs and (part.used[0] > measure.limit // 2 or (whole and block.kind != "text")):
            yield tuple(part.runs)
            part = _Part(measure)
        elif part.runs:
            part.add(gap)
        while not part.fits(runs):
            taken, runs = cut(runs, part.room, measure)
            yield (*part.runs, *taken)
            part = _Part(measure)
        part.add(runs)
    if part.runs:
        yield tuple(part.runs)


def cut(runs: Runs, room: _Limits, measure: Measure) -> tuple[Runs, Runs]:
    """The runs in two: the first as much as `room` holds, and something in any case."""
    most = _most(runs, room, measure)
    if most == 0:
        # Nothing goes in whole: a link with its address is longer than a part.
        return _forced(runs, room, measure)
    at = _place(runs, most)
    return _split(runs, at) if at else _forced(runs, room, measure)


def _most(runs: Runs, room: _Limits, measure: Measure) -> int:
    """How many characters of the runs go into the room."""
    length, entities, most = room[0], room[1], 0
    for run in runs:
        needed, made = measure.of(run)
        entities -= made
        if entities < 0:
            return most
        if needed <= length:
            length -= needed
            most += len(run.text)
            continue
        return most + _fitting(run.text, length - measure.around(run), measure.text)
    return most


def _fitting(text: str, length: int, measure: Callable[[str], int]) -> int:
    """How many characters of a text have together at most `length`."""
    taken = max(0, min(length, len(text)))
    while taken > 0 and (over := measure(text[:taken]) - length) > 0:
        taken -= (over + 1) // 2
    return taken


def _place(runs: Runs, most: int) -> int:
    """Where to cut within the first `most` characters; 0 if nowhere."""
    text, coded, kept = _window(runs, most)
    least = max(1, most // 2)
    for candidates in (_ends(text, "\n\n"), _ends(text, "\n"), _matches(text, _SENTENCE), _matches(text, _WORD)):
        for at in candidates(least, most):
            if not _inside(at, kept) and (not _inside(at, coded) or text[at - 1] == "\n"):
                return at
    for at in range(most, 0, -1):
        if between(text, at) and not _inside(at, kept):
            return at
        if most - at > LONGEST_ADDRESS + 64:
            break
    return 0


def _window(runs: Runs, most: int) -> tuple[str, list[tuple[int, int]], list[tuple[int, int]]]:
    """The text that is looked at, with where there is code in it, and what must stay in one piece."""
    coded: list[tuple[int, int]] = []
    kept: list[tuple[int, int]] = []
    texts: list[str] = []
    start = 0
    for run in runs:
        if start > most:
            break
        end = start + len(run.text)
        if run.has("link"):
            kept.append((start, end))
        elif run.has("pre", "table"):
            coded.append((start, end))
        texts.append(run.text[: most + LONGEST_ADDRESS + 1])
        start = end
    text = "".join(texts)[: most + LONGEST_ADDRESS + 1]
    found = (match.span() for match in _ADDRESS.finditer(text, max(0, most // 2 - LONGEST_ADDRESS)))
    kept += [(begin, end) for begin, end in found if end - begin <= LONGEST_ADDRESS]
    return text, coded, kept


def _ends(text: str, sign: str) -> Callable[[int, int], Iterator[int]]:
    def find(least: int, most: int) -> Iterator[int]:
        at = text.rfind(sign, least, most)
        while at != -1:
            yield at + len(sign)
            at = text.rfind(sign, least, at)

    return find


def _matches(text: str, pattern: re.Pattern[str]) -> Callable[[int, int], Iterator[int]]:
    def find(least: int, most: int) -> Iterator[int]:
        ends = [match.end() for match in pattern.finditer(text, least, most) if between(text, match.end())]
        yield from reversed(ends)

    return find


def _inside(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(start < at < end for start, end in spans)


def _split(runs: Runs, at: int) -> tuple[Runs, Runs]:
    head: list[Run] = []
    for number, run in enumerate(runs):
        if at < len(run.text):
            cut_run = Run(run.text[at:], run.styles)
            return (*head, *([Run(run.text[:at], run.styles)] if at else [])), _without_break(
                (cut_run, *runs[number + 1 :])
            )
        head.append(run)
        at -= len(run.text)
    return tuple(head), ()


def _without_break(runs: Runs) -> Runs:
    """What goes on in the next part, without the spaces and line ends that it was cut at; in code, the indentation
    of its first line stays."""
    for at, run in enumerate(runs):
        if text := run.text.lstrip("\n" if run.has("pre", "table") else None):
            return (Run(text, run.styles), *runs[at + 1 :])
    return ()


def _forced(runs: Runs, room: _Limits, measure: Measure) -> tuple[Runs, Runs]:
    """Cut where nothing stays in one piece, for the first has no room in a part of its own."""
    if room != (measure.limit, measure.most_entities):
        return (), runs  # it gets a part of its own first
    first, *others = runs
    if first.has("link"):
        bare = Run(linked(first), tuple(style for style in first.styles if style.kind != "link"))
        return cut((bare, *others), room, measure)
    fitting = max(1, _fitting(first.text, room[0] - measure.around(first), measure.text))
    seen = next((at for at in range(fitting, 0, -1) if between(first.text, at)), fitting)
    return _split(runs, seen)


def _trimmed(runs: Runs) -> Runs:
    """The runs without empty ones and without blank lines at either end."""
    shown = [run for run in runs if run.text]
    while shown and not shown[0].text.strip():
        shown.pop(0)
    while shown and not shown[-1].text.strip():
        shown.pop()
    if shown and not shown[0].has("pre", "table"):
        shown[0] = Run(shown[0].text.lstrip("\n"), shown[0].styles)
    if shown:
        shown[-1] = Run(shown[-1].text.rstrip(), shown[-1].styles)
    return tuple(shown)
