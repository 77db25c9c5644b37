from __future__ import annotations

import sqlite3
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from qingtuan.indexes import terms


def meets(query: str, text: str) -> bool:
    return bool(set(terms.query_terms(query)) & set(terms.index_terms(text)))


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("成语接龙", "今天玩成语接龙游戏"),
        ("二楼", "优先二楼安静区"),
        ("GitHub备份脚本上传失败", "GitHub 备份脚本昨晚上传失败"),
        ("itgc", "重跑gen-itgc后50条"),
        ("50", "重跑gen-itgc后50条"),
        ("重跑", "重跑gen-itgc后50条"),
        ("猫", "家里的猫叫煤球"),
        ("猫 rust", "家里的猫叫煤球"),
        ("ａｘ３６００", "路由器 AX-3600"),
        ("AX3600", "路由器 AX-3600"),
        ("AX-3600", "路由器 ax3600"),
        ("CAFE", "in the café"),
        ("7k319是谁的", "车牌号是沪A·7K319"),
        ("evt_01HX", "see evt_01hx for it"),
        ("東京", "東京タワー"),
        ("목요일", "목요일에 만나요"),
        ("Дом", "дом у моря"),
    ],
)
def test_what_a_person_types_meets_what_stands_there(query: str, text: str) -> None:
    assert meets(query, text)


@pytest.mark.parametrize(("query", "text"), [("二楼", "三楼和二号"), ("art", "smart party"), ("Tom", "tomorrow")])
def test_what_only_looks_alike_does_not(query: str, text: str) -> None:
    assert not meets(query, text)


def test_a_run_is_cut_into_pairs_and_never_one_phrase() -> None:
    assert terms.query_terms("图书馆座位") == ["图书", "书馆", "馆座", "座位"]
    assert terms.index_terms("二楼ok") == ["二", "楼", "二楼", "ok"]


def test_function_words_are_left_out_of_queries_unless_there_is_nothing_else() -> None:
    assert terms.query_terms("Where do I like to sit?") == ["like", "sit"]
    assert terms.query_terms("我的座位在哪里") == ["座位", "位在", "在哪"]
    assert terms.query_terms("who") == ["who"]
    assert terms.query_terms("目的") == ["目的"]
    assert terms.query_terms("？！ …") == []


def test_a_pasted_book_stays_a_short_query() -> None:
    assert len(terms.query_terms(" ".join(f"w{number}x" for number in range(5000)))) == 128


def test_how_much_of_a_query_is_chinese() -> None:
    assert terms.cjk_share(terms.query_terms("图书馆")) == 1
    assert terms.cjk_share(terms.query_terms("library floor")) == 0
    assert 0 < terms.cjk_share(terms.query_terms("重跑itgc")) < 1
    assert terms.cjk_share([]) == 0


@pytest.mark.parametrize(
    ("key", "query", "share"),
    [
        ("我|座位偏好", "我的座位偏好是什么", 1.0),
        ("我|座位偏好", "座位偏好", 0.8),
        ("我|座位偏好", "座位", 0.0),
        ("Tom|job", "what is tom's JOB?", 1.0),
        ("Tom|job", "tomorrow's jobs", 0.0),
        ("||", "任何话", 0.0),
    ],
)
def test_how_much_of_a_key_stands_in_a_query(key: str, query: str, share: float) -> None:
    assert terms.key_share(key, terms.fold(query)) == pytest.approx(share)


def test_the_leading_parts_of_a_key_are_those_that_say_most() -> None:
    assert terms.leading_parts("我|座位偏好") == ["座位偏好"]
    assert terms.leading_parts("张三|职务") == ["张三", "职务"]
    assert terms.leading_parts("甲|乙|丙") == ["甲", "乙", "丙"]
    assert terms.leading_parts("…") == []


@pytest.fixture(scope="module")
def table() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE terms USING fts5 (body, content='', detail=none, columnsize=0, tokenize='porter ascii')"
    )
    yield connection
    connection.close()


anything = st.text(st.characters()) | st.text('"*()^-+:{}ANDORNEAT 我们的"\x00')


@given(text=anything)
def test_nothing_that_a_person_writes_breaks_a_query(table: sqlite3.Connection, text: str) -> None:
    table.execute("INSERT INTO terms (terms) VALUES ('delete-all')")
    table.execute("INSERT INTO terms (rowid, body) VALUES (7, ?)", (" ".join(terms.index_terms(text)),))
    for term in terms.query_terms(text):
        assert table.execute("SELECT rowid FROM terms WHERE terms MATCH ?", (f'"{term}"',)).fetchall() == [(7,)]


@given(text=anything)
def test_every_query_term_of_a_text_is_among_its_index_terms(text: str) -> None:
    assert set(terms.query_terms(text)) <= set(terms.index_terms(text))
