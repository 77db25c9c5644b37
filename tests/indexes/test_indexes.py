from __future__ import annotations

import asyncio
import sys
from contextlib import closing
from pathlib import Path
from threading import Barrier, Thread

import pytest

from qingtuan.clock import ManualClock
from qingtuan.errors import Bug
from qingtuan.indexes.base import Hit, Query
from qingtuan.indexes.indexes import Index, Indexes
from qingtuan.indexes.store import ScopeFile
from tests.fakes.embedder import CountingEmbedder
from tests.indexes.conftest import MakeEntry, OpenIndex

OWN = {"user:owner": None}


def texts(hits: list[Hit]) -> list[str]:
    return [hit.text for hit in hits]


def test_what_is_not_allowed_does_not_exist(index: Index, entry: MakeEntry) -> None:
    index.add("user:a", [entry("甲的座位", scope="user:a"), entry("甲的公开座位", scope="user:a", label="public")])
    index.add("user:b", [entry("乙的座位", scope="user:b")])
    assert index.search(Query("座位", {})) == []
    assert index.search(Query("座位", {"user:a": frozenset()})) == []
    assert texts(index.search(Query("座位", {"user:a": frozenset({"public"})}))) == ["甲的公开座位"]
    assert set(texts(index.search(Query("座位", {"user:a": None})))) == {"甲的座位", "甲的公开座位"}
    assert len(index.search(Query("座位", {"user:a": None, "user:b": None, "user:none": None}))) == 3


def test_hidden_entries_have_no_part_in_the_order(open_index: OpenIndex, entry: MakeEntry) -> None:
    index = open_index(CountingEmbedder())
    shown = [entry(text, label="public") for text in ("喜欢二楼座位", "座位靠窗", "爱喝咖啡")]
    index.add("user:owner", shown)
    query = Query("二楼座位", {"user:owner": frozenset({"public"})})
    before = [(hit.text, hit.score, hit.coverage) for hit in index.search(query)]
    index.add("user:owner", [entry(f"二楼座位{number}", label="private") for number in range(30)])
    assert [(hit.text, hit.score, hit.coverage) for hit in index.search(query)] == before


def test_a_hit_says_where_it_is_from_and_why_it_was_found(open_index: OpenIndex, entry: MakeEntry) -> None:
    index = open_index(CountingEmbedder())
    index.add(
        "user:owner", [entry("优先二楼安静区", id="12", document="p/library.md", time=9.0, keys=("我|座位偏好",))]
    )
    [hit] = index.search(Query("我的座位偏好", OWN))
    assert (hit.scope, hit.document, hit.entry_id, hit.time) == ("user:owner", "p/library.md", "12", 9.0)
    assert hit.keyed
    assert hit.similarity is not None
    assert 0 <= hit.coverage <= 1
    [hit] = index.search(Query("二楼", OWN))
    assert not hit.keyed
    assert hit.coverage > 0


def test_a_direct_question_finds_its_key(index: Index, entry: MakeEntry) -> None:
    index.add("user:owner", [entry("优先二楼安静区", keys=("我|座位偏好",)), entry("不吃香菜", keys=("我|忌口",))])
    assert texts(index.search(Query("座位偏好是什么", OWN))) == ["优先二楼安静区"]
    assert texts(index.search(Query("我有什么忌口？", OWN))) == ["不吃香菜"]


def test_without_a_query_or_a_limit_there_is_nothing(index: Index, entry: MakeEntry) -> None:
    index.add("user:owner", [entry("二楼")])
    assert index.search(Query("  ", OWN)) == []
    assert index.search(Query("二楼", OWN, limit=0)) == []
    assert index.search(Query("？？", OWN)) == []


def test_a_stretch_of_time_is_part_of_the_question(index: Index, entry: MakeEntry) -> None:
    index.add("user:owner", [entry(f"第{day}天去图书馆", time=float(day)) for day in range(5)])
    found = index.search(Query("图书馆", OWN, since=1.0, until=3.0))
    assert texts(found) == ["第2天去图书馆", "第1天去图书馆"]


def test_an_answer_next_to_the_question_is_found_in_talk(index: Index, entry: MakeEntry) -> None:
    talk = ["你家猫叫什么名字", "煤球", "今天吃什么", "面"]
    index.add("user:owner", [entry(text, document="s_1", time=float(at)) for at, text in enumerate(talk)])
    index.add("user:owner", [entry("芝士", document="s_2")])
    found = index.search(Query("猫的名字", OWN, neighbours=0.3))
    assert texts(found)[0] == "你家猫叫什么名字"
    assert "煤球" not in texts(index.search(Query("猫的名字", OWN)))


def test_nothing_is_embedded_while_there_is_nothing_to_search(open_index: OpenIndex, entry: MakeEntry) -> None:
    model = CountingEmbedder()
    index = open_index(model)
    assert index.search(Query("二楼", OWN)) == []
    index.add("user:owner", [entry("二楼", label="private")])
    index.add("user:b", [entry("二楼", scope="user:b")])
    assert index.search(Query("二楼", {"user:owner": frozenset({"public"})})) == []
    assert (model.queries, model.passages) == ([], [])
    assert len(index.search(Query("二楼", OWN))) == 1
    assert (model.queries, model.passages) == (["二楼"], ["二楼"])


def test_what_was_just_written_is_found_by_meaning_at_once(open_index: OpenIndex, entry: MakeEntry) -> None:
    model = CountingEmbedder(senses={"座位": "图书馆", "哪里": "二楼"})
    index = open_index(model)
    index.add("user:owner", [entry("图书馆二楼"), entry("不吃香菜"), entry("养了猫")])
    assert texts(index.search(Query("座位哪里", OWN)))[0] == "图书馆二楼"


def test_a_backlog_is_embedded_little_by_little_and_the_newest_first(open_index: OpenIndex, entry: MakeEntry) -> None:
    model = CountingEmbedder()
    index = open_index(model)
    index.add("user:owner", [entry(f"第{number}条") for number in range(30)])
    index.search(Query("条", OWN))
    assert len(model.passages) == model.batch
    assert model.passages[0] == "第29条"
    assert index.catch_up(limit=10) == 10
    assert index.catch_up() == 12
    assert index.catch_up() == 0


def test_another_model_embeds_again_what_it_meets(open_index: OpenIndex, entry: MakeEntry) -> None:
    index = open_index(CountingEmbedder())
    index.add("user:owner", [entry("二楼"), entry("三楼")])
    index.catch_up()
    index.release()
    other = CountingEmbedder(name="other", dimension=32)
    index = open_index(other)
    assert texts(index.search(Query("二楼", OWN)))[0] == "二楼"
    assert sorted(other.passages) == ["三楼", "二楼"]


def test_a_model_that_fails_leaves_words(open_index: OpenIndex, entry: MakeEntry) -> None:
    model = CountingEmbedder()
    index = open_index(model)
    model.down = True
    index.add("user:owner", [entry("优先二楼安静区"), entry("不吃香菜")])
    assert texts(index.search(Query("二楼座位", OWN))) == ["优先二楼安静区"]
    assert index.catch_up() == 0


def test_documents_are_replaced_moved_and_removed(index: Index, entry: MakeEntry) -> None:
    assert index.replace("user:owner", "a.md", [entry("二楼", document="a.md")], stamp="h1")
    assert not index.replace("user:owner", "a.md", [entry("二楼", document="a.md")], stamp="h1")
    assert index.replace("user:owner", "a.md", [entry("三楼", document="a.md")], stamp="h2")
    assert index.search(Query("二楼", OWN)) == []
    assert index.stamps() == {("user:owner", "a.md"): "h2"}
    assert index.move("user:owner", "a.md", "b.md")
    assert [hit.document for hit in index.search(Query("三楼", OWN))] == ["b.md"]
    assert index.remove("user:owner", "b.md")
    assert not index.remove("user:owner", "b.md")
    assert not index.remove("user:nobody", "b.md")
    assert index.search(Query("三楼", OWN)) == []
    index.scrub("user:owner")


def test_forgetting_a_scope_deletes_its_file(index: Index, entry: MakeEntry, tmp_path: Path) -> None:
    index.add("user:owner", [entry("芝麻开门")])
    assert index.drop("user:owner")
    assert not index.drop("user:owner")
    assert list(tmp_path.rglob("*.sqlite*")) == []
    assert index.search(Query("芝麻", OWN)) == []


def test_an_entry_in_the_wrong_scope_is_stopped(index: Index, entry: MakeEntry) -> None:
    with pytest.raises(Bug):
        index.add("user:a", [entry("二楼", scope="user:b")])
    with pytest.raises(Bug):
        index.replace("user:owner", "a.md", [entry("二楼", document="b.md")])


def test_only_so_many_files_stay_open(tmp_path: Path, clock: ManualClock, entry: MakeEntry) -> None:
    indexes = Indexes(tmp_path, None, clock, open_files=2)
    index = indexes.open("beliefs")
    scopes = [f"user:{number}" for number in range(6)]
    for scope in scopes:
        index.add(scope, [entry("二楼", scope=scope)])
    assert len(index.search(Query("二楼", dict.fromkeys(scopes)))) == 6
    indexes.close()


def test_collections_are_apart_and_their_names_plain(tmp_path: Path, clock: ManualClock, entry: MakeEntry) -> None:
    indexes = Indexes(tmp_path, None, clock)
    indexes.open("beliefs").add("user:owner", [entry("二楼")])
    assert indexes.open("episodes").search(Query("二楼", OWN)) == []
    assert indexes.open("beliefs") is indexes.open("beliefs")
    for name in ("../x", "", "A", "a/b"):
        with pytest.raises(Bug):
            indexes.open(name)
    indexes.close()


def test_everything_can_be_released_and_comes_back(tmp_path: Path, clock: ManualClock, entry: MakeEntry) -> None:
    model = CountingEmbedder()
    indexes = Indexes(tmp_path, model, clock)
    indexes.warm()
    index = indexes.open("beliefs")
    index.add("user:owner", [entry("二楼")])
    before = index.search(Query("二楼", OWN))
    indexes.release()
    assert model.released == 1
    assert indexes.idle_seconds == 0
    assert index.search(Query("二楼", OWN)) == before
    assert indexes.health.vectors == "on"
    indexes.close()


async def test_searches_and_writes_from_many_threads(open_index: OpenIndex, entry: MakeEntry) -> None:
    index = open_index(CountingEmbedder())

    def work(number: int) -> int:
        index.add("user:owner", [entry(f"第{number}条座位")])
        return len(index.search(Query(f"第{number}条", OWN, limit=1)))

    assert await asyncio.gather(*(asyncio.to_thread(work, number) for number in range(40))) == [1] * 40


def test_an_index_with_nothing_in_it_imports_no_numpy(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from qingtuan.clock import SystemClock\n"
        "from qingtuan.indexes.base import Query; from qingtuan.indexes.embedding import UseEmbedder\n"
        "from qingtuan.indexes.indexes import Indexes\n"
        f"index = Indexes(Path({str(tmp_path)!r}), UseEmbedder(), SystemClock()).open('beliefs')\n"
        "index.search(Query('x', {'user:owner': None})); print('numpy' in sys.modules)"
    )
    import subprocess

    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


async def test_many_that_make_the_same_file_at_once_all_get_it(tmp_path: Path, entry: MakeEntry) -> None:
    for attempt in range(40):
        start = Barrier(4)

        def make(path: Path = tmp_path / f"{attempt}.sqlite", start: Barrier = start) -> bool:
            start.wait()
            with closing(ScopeFile(path, "user:owner")) as file:
                return file.replace("d", [entry("第一条")], "")

        assert sorted(await asyncio.gather(*(asyncio.to_thread(make) for _ in range(4)))) == [False] * 3 + [True]


def test_a_writer_in_another_thread_does_not_block_a_reader(open_index: OpenIndex, entry: MakeEntry) -> None:
    writer, reader = open_index(None), open_index(None)
    thread = Thread(target=lambda: [writer.add("user:owner", [entry(f"第{n}条")]) for n in range(50)])
    thread.start()
    while thread.is_alive():
        reader.search(Query("条", OWN))
    thread.join()
    assert len(reader.search(Query("条", OWN, limit=100))) == 50
