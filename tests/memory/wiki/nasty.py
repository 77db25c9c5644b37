"""Pages as people, editors and accidents make them: by hand, and generated."""

from __future__ import annotations

from hypothesis import strategies as st

PLAIN = """---
id: 01K0000000000000000000000A
type: preference
visibility: private
updated: 2026-06-23
---
# 图书馆

任何人写在这里的文字都原样保留。

## 当前
- 优先二楼安静区 ^12
- 提交预约前必须二次确认 ^13

## 历史
- 2026-06-20~2026-06-23：曾偏好三楼靠窗 ^9

<!-- qingtuan
12: {s: 我, p: 座位偏好, v: 二楼安静区, since: 2026-06-23, from: evt_1, how: explicit, via: cli, vis: own, pin: true}
13: {s: 我, p: 预约规则, v: 二次确认, since: 2026-06-21, from: evt_2, how: manual, vis: own}
9: {s: 我, p: 座位偏好, v: 三楼靠窗, since: 2026-06-20, until: 2026-06-23, from: evt_0, how: explicit}
-->
"""

ENGLISH = """---
id: 01K0000000000000000000000B
type: rule
visibility: own
updated: "2026-06-01"   # kept by hand
tags: [library, 'seats']
aliases:
    - the library
---
# Library

## Current   <!-- active facts -->

* Prefers the quiet area on the second floor ^3
* Never books without asking ^4
  - because of last time
    1. numbered
* [ ] a task somebody wrote

## Notes
A paragraph.

| seat | floor |
| ---- | ----- |
| A12  | 2     |

## History and older things
* 2026-05-01~2026-06-01: was: prefers window seats ^1

<!-- qingtuan
3: {s: I, p: seat, v: quiet area, since: 2026-06-01, how: explicit, colour: [blue, 2026-01-02, {deep: 1.5}]}
-->
"""

TEMPLATE = """---
id: library_preference
type: preference
confidence: 0.9
source: conversation:2026-06-20
updated_at: 2026-06-20
---
# 图书馆偏好

## 当前               # active facts
- 优先二楼安静区
- 提交预约前必须二次确认
  - 尤其是晚上
  - 周末例外

段落不会丢。

## 备注
- 这不是记忆

## 历史              # superseded
- 2026-06-20~2026-06-23：曾偏好三楼靠窗
"""

LISTS = """# lists
## 当前
Intro, then a list.
  - indented by two ^1
  - also
    - nested ^77
      more

    a paragraph of the nested one
+ plus ^2
   lazy? no: indented
lazy: yes
* star

1. ordered
   - nested in ordered ^78
2. two

- - -
***
    - indented code ^79

- last ^3
\t- by tab ^80

Setext ends it
---
- not a belief
"""

CODE = """---
visibility: nonsense
---

```md
## 当前
- not a belief ^5
<!-- qingtuan
5: {v: x}
-->
```

## Current
~~~
- no
```
- no
~~~
- yes ^6
  ```
  - code in an item
  ## History
  ```
  - nested
<!-- a comment
- no
## History
-->
<pre>
- raw
</pre>
- yes too ^7 <!-- noted -->
- `<!-- qingtuan` in a line

<!-- qingtuan
6: {v: broken, vis: [private]
7: {v: "seven", vis: public, since: "2026-13-45"}
nonsense
# 8: {v: commented}
99: {v: moved elsewhere, vis: own}

-->
Text below the data.
- a bullet below the data
"""

COPIED = """# Copies
## 当前
- one ^1
- a copy with other words ^1
- two ^2
## 历史
- two, once ^2
<!-- qingtuan
1: {v: one, vis: public}
1: {v: uno, vis: own}
2: {v: two}
-->
"""

BARE = "## 当前\n- 一\n- 二"
EMPTY = ""
NO_SECTIONS = "# 只有标题\n\n一段话\n"
OPEN_FENCE = "# Open\n\n## 当前\n- a ^1\n\n```\nnever closed\n## 历史\n- no\n"
OPEN_COMMENT = "# Open\n\n## Current\n- a ^1\n<!-- never closed\n## History\n- no\n"
UNINDENTED = "# x\n## 当前\ntext\n- a\n---\n- b ^2\n\n| t |\nfoo\n---\n- not\n## 历史\n   - c ^3\n - d\n  - e\n"

PAGES = {name.lower(): text for name, text in list(globals().items()) if name.isupper() and isinstance(text, str)}

_FRAGMENTS = st.sampled_from(
    [
        "## 当前", "## 历史", "## Current", "## History # old", "## 当前状态", "## 备注", "### 小节", "# 标题",
        "- 条目", "- 条目 ^1", "- 条目 ^2", "- b ^3 ", "* star ^4", "+ plus", "  - nested", "  - nested ^5",
        " - one in ^6", "   - three in", "    - four in", "\t- tab", "- ", "-", "*", "- ^7", "- - x", "- # h", "- ```",
        "- > quote", "- <!-- c -->", "- a <!-- c --> ^8", "- a ^8 <!-- c -->", "- <!-- open",
        "- 2026-01-01~2026-02-01：曾x",
        "", "", "", " ", "text", "更多文字", "  indented text", "    code", "\ttabbed", "lazy",
        "1. one", "2. two", "   - under one", "10) ten", "> quote", ">- quoted bullet", "| a | b |", "|---|---|",
        "---", "***", "===", "- - -", "* * *", "```", "~~~", "````", "  ```", "```py", "``` x ``` y",
        "<!-- comment -->", "<!-- open", "-->", "text --> text", "<pre>", "</pre>", "<div>", "<details>", "%%",
        "\\# no", "#no heading", "####### seven", "\ufeff- bom", "\u3000全角", "\x0b- vt", "a\x85b", "^9", "![[x]]",
    ]
)  # fmt: skip
_HEADINGS = st.sampled_from(["## 当前", "## 历史", "## Current", "## History # old", "## 备注", "### 小节"])
_BULLETS = st.sampled_from(
    [
        "- 条目",
        "- 条目 ^1",
        "- other ^2",
        "* star ^4",
        "  - nested",
        " - one in ^6",
        "  - two in ^7",
        "- a\n  more ^8",
        "",
    ]
)
_DATA = st.sampled_from(
    [
        "1: {v: 一, vis: public}",
        "2: {v: 二, pin: true, x: {y: [1]}}",
        "3: {broken",
        "4: [no]",
        "1: {v: again}",
        "junk",
        "",
    ]
)
_FRONT = st.sampled_from(
    [
        [],
        ["---", "id: 01K", "type: preference", "visibility: own", "updated: 2026-01-01", "---"],
        ["---", 'updated: "2026-01-01"  # x', "extra:", "  - 1", "updated_at: 3", "..."],
        ["---  ", "---"],
        ["---", "updated:", "visibility: [x]", "---"],
    ]
)


@st.composite
def generated(draw: st.DrawFn) -> bytes:
    """A page of fragments in any order, with or without front matter, data and final line end."""
    lines = [*draw(_FRONT), *draw(st.lists(_FRAGMENTS, max_size=3))]
    for heading in draw(st.lists(_HEADINGS, max_size=3)):
        lines += [heading, *draw(st.lists(st.one_of(_BULLETS, _FRAGMENTS), max_size=8))]
    if draw(st.booleans()):
        lines += ["<!-- qingtuan", *draw(st.lists(_DATA, max_size=4)), "-->"]
        lines += draw(st.lists(_FRAGMENTS, max_size=3))
    end = draw(st.sampled_from(["\n", "\n", "\n", "\r\n", "\r"]))
    text = draw(st.sampled_from(["", "", "", "\ufeff"])) + end.join(lines)
    return (text + draw(st.sampled_from([end, ""]))).encode()


hand_made = st.sampled_from([text.encode() for text in PAGES.values()])
hand_made_dos = hand_made.map(lambda data: data.replace(b"\n", b"\r\n"))
any_page = st.one_of(generated(), generated(), hand_made, hand_made_dos)
