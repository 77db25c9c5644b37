"""There is no second way to memory: whatever hands it out asks who reads (identity.md, What may be seen).

Looked at is every class and function of `qingtuan.memory` that can get at memory by itself, because it holds or takes
one of the sources below. Its public functions take a sight, a reader, or on whose behalf they work; the few that do
not stand in `BENEATH`, each with its reason. Functions that get all they work on as arguments were given it by one of
these.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from typing import Any

import qingtuan.memory
from tests.architecture.source import REPOSITORY, imports_of, python_files

SOURCES = (
    "Log", "Database", "Library", "WikiStore", "Index", "Disk", "Listing", "Ledger", "Repository", "Talk", "Writer",
)  # fmt: skip
"""What memory can be read from."""
READERS = ("Sight", "EventSight", "Reader", "By", "ToolContext")
"""Who or what says for whom it is read. `Sight` and `EventSight` are made by the filter alone."""
NOTHING = ("None", "bool", "int")
"""Results that hold nothing of anybody. Numbers that are told to people are counted after the filter, above."""

BENEATH: dict[str, str] = {
    # Files as bytes. What stands above reads them through the library, or on the owner's own machine (cli).
    "wiki": "the files themselves, whole: only what is `ABOVE` them may use them",
    # The library
    "library.Library.scopes": "names of scopes; nothing that stands in them",
    "library.Library.holdings": "whole scopes, for deciding on a write; used within memory only",
    "library.Library.notes": "whole scopes, for finding the place of a note; used within memory only",
    "library.Library.known": "one entry by number, for changing it; shown by what asks who reads",
    "library.Library.content": "hashes",
    "library.Library.aliases": "the table of names for predicates",
    "library.Library.rules": "what is to be remembered or not, for code to go by; told by what asks who reads",
    "library.Library.keeping": "the same, of one person and of all",
    "library.Library.unreadable": "paths of broken pages, for deciding on a write and for the owner's check-up",
    "library.Library.problems": "paths of broken pages and what is wrong with them, for the owner, who mends them",
    "library.Library.entries": "what the index holds, for rebuilding it",
    "library.Library.stamps": "hashes, for verifying the index",
    # Writing
    "writing.Writer.said": "when something was said, and nothing of it",
    "writing.Writer.numbered": "entries before and after a write, for the events that tell of it",
    "writing.Writer.told_again": "when something was said again, and nothing of it",
    "writing.Writer.edited": "when an entry was changed by hand, and nothing of it",
    "memory.Memory.edited": "paths that were changed by hand",
    # What waits for somebody's word
    "candidates.Candidates.people": "ids of those about whose word something waits; nothing of what it is",
    "reviewing.Reviewing.people": "the same",
    "candidates.Candidates.untouched": "what nobody cared about, to be dropped without a word",
    "candidates.Candidates.like": "what became of earlier proposals, and when; nothing of what they say",
    "overtaken.again": "how a write is done again, for who may write there",
    "story.story_of": "what became of an entry that was found for a reader; `why` shows each event to their sight",
    "writing.Writer.ever_given": "numbers and what they said, so that none is given again; used within memory only",
    # What comes from the owner's copy of the wiki, and waits for the owner
    "landing.Landing.here": "a page as it is, for putting beside it what came; shown by what asks the owner",
    "landing.Landing.content": "hashes",
    "pull_proposals.PullProposals.open": "pulls that wait for the owner, for carrying them out; told by `Reviewing`",
    "pull_proposals.PullProposals.of": "the same",
    # Erasing: whole, by code, and told to nobody but as counts
    "erasing.erasures.Erasures.begun": "what a crash cut off, for finishing it",
    "erasing.erasures.Erasures.carry_out": "counts of what was erased",
    "erasing.erasures.Erasures.beyond": "names of copies that no erasure reaches, for the owner",
    "erasing.purging.Purging.texts": "all that an entry said, for finding where else it stands",
    "erasing.whole.whole_of": "by what a person is known, for finding all that is theirs",
    "erasing.forgetting.Forgetting.leaving": "all that is a person's, to be erased; told to the owner as counts",
    "erasing.forgetting.Forgetting.erase": "the event that says so",
    "erasing.record.each": "events to be erased",
    "erasing.record.with_their_calls": "the same",
    "erasing.record.parts_that": "hashes",
    "erasing.record.of_summaries": "events to be erased, and hashes",
    "erasing.record.media_only_of": "names of files to be deleted",
    # Past talk: within the labels that `Recollection` asked the filter for
    "episodes.Episodes.search": "takes the labels of a sight in its query",
    "episodes.Episodes.entries": "what the index holds, for rebuilding it",
    "episodes.Episodes.stamps": "positions in the log, for verifying the index",
    "episodes.spaces_of": "names of spaces, for rebuilding the index",
    "recollection.Recollection.told": "words for what was found for a reader before",
    "exporting.talk.days": "of a `Talk`, which was made for a reader",
    # Summaries and what is learnt: of one session, for that session's own space
    "summaries.Summaries.in_context": "of one session, for a turn in it; made of what all there have read",
    "summaries.Summaries.window": "events of one session, for a turn in it; the history shows a reader only theirs",
    "summaries.Summaries.status": "counts of one session",
    "summaries.Summaries.compress": "how many messages were compressed",
    "summaries.Summaries.delete": "ids of summaries",
    "summaries.Summaries.of_person": "summaries to be erased",
    "summaries.Summaries.covering": "the same",
    "summaries.Summaries.saying": "the same",
    "summaries.Summaries.with_later": "the same",
    "extraction.Extraction.extract": "what was found in a session, for writing it to the memory of who said it",
}
ABOVE = (
    "qingtuan.memory",
    "qingtuan.app",  # constructs it
    "qingtuan.cli",  # the owner's machine: history, diff and rollback of one's own files
)


def modules() -> Iterator[Any]:
    for found in pkgutil.walk_packages(qingtuan.memory.__path__, "qingtuan.memory."):
        yield importlib.import_module(found.name)


def mentions(annotation: object, names: tuple[str, ...]) -> bool:
    """Whether an annotation, as it stands in the source, names one of these types."""
    return bool(set(re.findall(r"\w+", str(annotation))) & set(names))


def takes(function: Callable[..., object], names: tuple[str, ...]) -> bool:
    return any(mentions(given.annotation, names) for given in inspect.signature(function).parameters.values())


def roads(module: Any) -> Iterator[tuple[str, Callable[..., object]]]:
    """The public functions of a module by which memory may come out, with their names."""
    short = module.__name__.removeprefix("qingtuan.memory.")
    for name, found in vars(module).items():
        if name.startswith("_") or getattr(found, "__module__", None) != module.__name__:
            continue
        if inspect.isclass(found):
            given = inspect.signature(found).parameters.values()
            made_for_a_reader = any(str(parameter.annotation) in READERS for parameter in given)
            if takes(found, SOURCES) and not made_for_a_reader:
                for method, function in vars(found).items():
                    of = function.fget if isinstance(function, property) else function
                    if inspect.isfunction(of) and not method.startswith("_"):
                        yield f"{short}.{name}.{method}", of
        elif inspect.isfunction(found) and takes(found, SOURCES):
            yield f"{short}.{name}", found


def unasked() -> Iterator[str]:
    """The roads on which nobody asks who reads."""
    for module in modules():
        for name, function in roads(module):
            given = str(inspect.signature(function).return_annotation)
            if given not in NOTHING and not takes(function, READERS):
                yield name


def test_whatever_hands_out_memory_asks_who_reads() -> None:
    known = tuple(BENEATH)
    assert [name for name in unasked() if name not in known and not name.startswith("wiki.")] == []


def test_every_exception_is_needed() -> None:
    found = set(unasked())
    assert [name for name in BENEATH if name != "wiki" and name not in found] == []


def test_the_walk_finds_roads_at_all() -> None:
    every = [name for module in modules() for name, _ in roads(module)]
    assert {"library.Library.beliefs", "recall.Recall.search", "notes.Notes.read", "editing.Editing.forget"} <= set(
        every
    )
    assert len(every) > 40


def test_only_memory_reads_the_files_of_the_wiki() -> None:
    used = {
        f"{path}: {name}"
        for path in python_files("src/qingtuan")
        for _, name in imports_of(path)
        if re.match(r"qingtuan\.memory\.(wiki\.(store|disk|listing|history|ledger)|library|current)\b", name)
        and not name.endswith((".Known", ".Note"))
        and not str(path).startswith(tuple(f"src/{above.replace('.', '/')}" for above in ABOVE))
    }
    assert used == set()


def test_what_is_whole_is_used_beneath_the_filter_only() -> None:
    whole = re.compile(r"library\.(holdings|notes|known|content|entries|unreadable)\(")
    outside = [
        f"{path}: {found[0]}"
        for path in python_files("src/qingtuan")
        if not str(path).startswith(tuple(f"src/{above.replace('.', '/')}" for above in ABOVE))
        for found in whole.finditer((REPOSITORY / path).read_text("utf-8"))
    ]
    assert outside == []
