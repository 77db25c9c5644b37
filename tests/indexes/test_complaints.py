"""What users of other memory systems complained about, as the smallest input that shows it."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import pytest

from qingtuan.indexes.base import Query
from qingtuan.indexes.indexes import Index
from tests.fakes.embedder import CountingEmbedder
from tests.indexes.conftest import MakeEntry, OpenIndex

OWN = {"user:owner": None}


def finds(index: Index, query: str) -> list[str]:
    return [hit.text for hit in index.search(Query(query, OWN))]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("今天玩成语接龙游戏", "成语接龙"),
        ("优先二楼安静区", "二楼"),
        ("GitHub 备份脚本昨晚上传失败", "GitHub备份脚本上传失败"),
        ("重跑gen-itgc后50条", "itgc"),
    ],
    ids=["part of a phrase", "two characters", "a long mixed query", "letters glued to characters"],
)
def test_words_are_found_in_chinese(index: Index, entry: MakeEntry, text: str, query: str) -> None:
    index.add("user:owner", [entry(text), entry("不吃香菜"), entry("养了一只狗")])
    assert finds(index, query) == [text]


def test_the_seeds_own_example(open_index: OpenIndex, entry: MakeEntry) -> None:
    """A whole sentence is not one phrase, and two characters are enough, with words alone."""
    index = open_index(None)
    index.add("user:owner", [entry("图书馆座位：优先二楼安静区"), entry("不吃香菜"), entry("周三打羽毛球")])
    for query in ("座位", "我一般喜欢坐图书馆哪里？"):
        assert finds(index, query)[0] == "图书馆座位：优先二楼安静区"


def test_the_best_match_comes_first_and_not_last(index: Index, entry: MakeEntry) -> None:
    index.add("user:owner", [entry("今天天气好"), entry("图书馆二楼安静区有座位"), entry("图书馆今天人多")])
    assert finds(index, "图书馆二楼座位") == ["图书馆二楼安静区有座位", "图书馆今天人多"]


def test_a_hit_of_words_alone_is_not_dropped_by_vectors(open_index: OpenIndex, entry: MakeEntry) -> None:
    model = CountingEmbedder()
    index = open_index(model)
    index.add("user:owner", [entry(f"关于别的事情{number}") for number in range(20)])
    index.catch_up()
    model.down = True
    index.add("user:owner", [entry("Clyde is a friend")])
    model.down = False
    model.batch = 0
    assert finds(index, "Clyde")[0] == "Clyde is a friend"


def test_only_the_present_value_is_found_after_a_correction(index: Index, entry: MakeEntry) -> None:
    index.replace("user:owner", "nas.md", [entry("备份在 Synology", document="nas.md", id="1")])
    index.replace("user:owner", "nas.md", [entry("备份在 fnOS", document="nas.md", id="2")])
    assert finds(index, "备份在哪") == ["备份在 fnOS"]
    assert finds(index, "Synology") == []


def test_a_page_that_moved_unchanged_is_found_at_its_new_place(index: Index, entry: MakeEntry) -> None:
    index.replace("user:owner", "a/x.md", [entry("二楼", document="a/x.md", id="1")])
    index.replace("user:owner", "b/x.md", [entry("二楼", document="b/x.md", id="1")])
    index.remove("user:owner", "a/x.md")
    assert [hit.document for hit in index.search(Query("二楼", OWN))] == ["b/x.md"]


def test_two_pages_with_the_same_id_do_not_collide(index: Index, entry: MakeEntry) -> None:
    for scope in ("user:a", "user:b"):
        for page in ("x.md", "y.md"):
            index.replace(scope, page, [entry("二楼", scope=scope, document=page, id="library_preference")])
    assert len(index.search(Query("二楼", {"user:a": None, "user:b": None}))) == 4


def test_nothing_of_a_vanished_page_leaks(index: Index, entry: MakeEntry) -> None:
    index.replace("user:a", "x.md", [entry("密码提示芝麻", scope="user:a", document="x.md", id="1")])
    index.replace("user:a", "x.md", [entry("别的", scope="user:a", document="x.md", id="1")])
    index.remove("user:a", "x.md")
    assert index.search(Query("密码提示芝麻", {"user:a": None, "user:b": None, "": None})) == []


def test_others_pages_do_not_crowd_out_ones_own(open_index: OpenIndex, entry: MakeEntry) -> None:
    index = open_index(CountingEmbedder())
    for number in range(30):
        index.add(f"user:{number}", [entry(f"二楼座位{number}", scope=f"user:{number}")])
    index.add("user:owner", [entry("我的二楼座位")])
    assert finds(index, "二楼座位") == ["我的二楼座位"]


def test_others_words_are_not_found_in_private_or_in_a_group(open_index: OpenIndex, entry: MakeEntry) -> None:
    index = open_index(CountingEmbedder())
    index.add("user:a", [entry("A 住在三单元", scope="user:a")])
    index.add("group:g", [entry("群规：不许刷屏", scope="group:g", label="public")])
    for allowed in ({"user:b": None}, {"user:b": None, "group:g": None}, {"group:g": frozenset({"public"})}):
        assert "A 住在三单元" not in [hit.text for hit in index.search(Query("A 住在三单元", allowed))]


def test_without_vectors_words_go_on_and_health_says_so(open_index: OpenIndex, entry: MakeEntry) -> None:
    model = CountingEmbedder()
    model.down = True
    index = open_index(model)
    index.add("user:owner", [entry("优先二楼安静区")])
    assert finds(index, "二楼") == ["优先二楼安静区"]
    assert index._embeddings.health.vectors == "off"


def test_a_second_process_reads_while_this_one_writes(index: Index, entry: MakeEntry, tmp_path: Path) -> None:
    index.add("user:owner", [entry("优先二楼安静区")])
    file = index._shelf.reading("user:owner")
    assert file is not None
    code = f"""
from pathlib import Path
from qingtuan.clock import SystemClock
from qingtuan.indexes.base import Query
from qingtuan.indexes.indexes import Indexes
index = Indexes(Path({str(tmp_path / "index")!r}), None, SystemClock()).open("beliefs")
print(len(index.search(Query("二楼", {{"user:owner": None}}))))
"""
    with file._transaction():
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"


def test_ten_thousand_lines_are_searched_in_no_time(open_index: OpenIndex, entry: MakeEntry) -> None:
    """CPU time, with a wide margin: what it guards against took 8 s."""
    model = CountingEmbedder(dimension=512)
    model.batch = 0
    index = open_index(model)
    index.add(
        "user:owner",
        [entry(f"第{number}条：喜欢{number % 97}号座位", document=f"{number}.md") for number in range(10_000)],
    )
    index.search(Query("七号座位", OWN))
    started = time.process_time()
    index.search(Query("第77条 座位", OWN))
    assert time.process_time() - started < 1


def test_a_second_start_need_not_read_what_has_not_changed(open_index: OpenIndex, entry: MakeEntry) -> None:
    open_index(None).rebuild(
        [entry(f"第{number}条", document=f"{number}.md") for number in range(500)],
        stamps={("user:owner", f"{number}.md"): f"{number}:120" for number in range(500)},
    )
    index = open_index(None)
    now = {("user:owner", f"{number}.md"): f"{number}:120" for number in range(500)} | {("user:owner", "3.md"): "9:121"}
    assert [place for place, stamp in now.items() if index.stamps().get(place) != stamp] == [("user:owner", "3.md")]
