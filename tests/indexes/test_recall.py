"""What the bench measures, guarded where it is quick: a change of weights or terms must not cost recall."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench import recall
from qingtuan.indexes.embedding import UseEmbedder, use_one_thread


class Loaded(UseEmbedder):
    """Stays loaded from one task to the next."""

    def release(self) -> None:
        """Nothing: loading takes a second."""


@pytest.fixture(scope="module")
def use() -> UseEmbedder:
    use_one_thread()
    return Loaded()


def test_dialogues_recall_what_they_call_for(shared: Path, use: UseEmbedder) -> None:
    assert recall.DATA.is_relative_to(shared)
    found = recall.measure(recall.madial("all"), use)["all"]
    assert (found.recall5 >= 0.62, found.recall10 >= 0.75, found.mrr >= 0.67) == (True, True, True)


def test_talk_is_found_by_words_alone(shared: Path) -> None:
    assert recall.DATA.is_relative_to(shared)
    plain = recall.measure(recall.locomo(slice(0, 1), tuned=False), None)["all"]
    near = recall.measure(recall.locomo(slice(0, 1), tuned=False, neighbours=recall.NEIGHBOURS), None)["all"]
    assert plain.recall5 >= 0.53
    assert near.recall10 > plain.recall10


def test_short_questions_are_not_led_astray_by_stray_words(use: UseEmbedder) -> None:
    """Words must cost a paraphrase nothing against meaning alone, and rare words must win."""
    assert recall.measure(recall.paraphrases("zh"), use)["all"].first >= 0.64
    assert recall.measure(recall.paraphrases("en"), use)["all"].first >= 0.87
    exact = recall.measure(recall.paraphrases("exact"), use)["all"]
    assert (exact.first >= 0.93, exact.recall5) == (True, 1.0)
