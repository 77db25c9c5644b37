"""Documents are read in a process of their own; what is made to break a reader breaks nothing else."""

from __future__ import annotations

import asyncio
import os
import zipfile
import zlib
from collections.abc import Callable
from datetime import datetime
from io import BytesIO
from typing import Any

import pytest
from openpyxl import Workbook
from pypdf import PdfReader, PdfWriter

from qingtuan.media.kinds import nature_of
from qingtuan.media.reading.process import Children, Job
from qingtuan.media.reading.told import SAID, Broken, Read

WORD = '<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body>{}</w:body></w:document>'


def pdf(*pages: str) -> bytes:
    """A small PDF with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * number} 0 R" for number in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for number, text in enumerate(pages):
        content = f"BT /F1 12 Tf 50 700 Td ({text}) Tj ET".encode()
        place = f"/Parent 2 0 R /Contents {5 + 2 * number} 0 R /Resources << /Font << /F1 3 0 R >> >>"
        objects.append(f"<< /Type /Page {place} /MediaBox [0 0 600 800] >>".encode())
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
    out, offsets = b"%PDF-1.4\n", []
    for number, one in enumerate(objects, 1):
        offsets.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, one)
    table = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    head = b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    tail = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(out))
    return out + head + table + tail


def zipped(members: dict[str, str | bytes]) -> bytes:
    target = BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


def word(body: str) -> bytes:
    return zipped({"[Content_Types].xml": "<Types/>", "word/document.xml": WORD.format(body)})


def excel(*rows: tuple[Any, ...]) -> bytes:
    book, target = Workbook(), BytesIO()
    sheet = book.active
    assert sheet is not None
    sheet.title = "预算"
    for row in rows:
        sheet.append(row)
    book.save(target)
    return target.getvalue()


async def read(data: bytes, chars: int = 1000, **limits: Any) -> Read:
    return await Children().read(Job("document", nature_of(data).media_type, chars, **limits), data)


async def why(data: bytes, **limits: Any) -> str:
    with pytest.raises(Broken) as caught:
        await read(data, **limits)
    return caught.value.why


async def test_pdf() -> None:
    assert (await read(pdf("First page", "Second page"))).text == "First page\n\nSecond page"
    cut = await read(pdf("x" * 60, "y" * 60, "z" * 60), 100)
    assert (len(cut.text), cut.cut) == (100, True)


async def test_word() -> None:
    body = (
        "<w:p><w:r><w:t>借书</w:t></w:r><w:r><w:tab/><w:t xml:space='preserve'>规则 </w:t></w:r></w:p>"
        "<w:p><w:r><w:delText>删掉的</w:delText><w:t>一楼</w:t><w:br/><w:t>二楼</w:t></w:r></w:p>"
        "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>周一</w:t></w:r></w:p></w:tc></w:tr></w:tbl>"
    )
    assert (await read(word(body))).text.split("\n") == ["借书\t规则 ", "一楼", "二楼", "周一"]


async def test_slides_and_open_documents() -> None:
    slide = '<p:sld xmlns:p="p" xmlns:a="a"><a:p><a:r><a:t>第{}页</a:t></a:r></a:p></p:sld>'
    slides = {f"ppt/slides/slide{number}.xml": slide.format(number) for number in (10, 2, 1)}
    shown = zipped({"[Content_Types].xml": "", "ppt/presentation.xml": "", **slides})
    assert (await read(shown)).text == "第1页\n第2页\n第10页"
    flowing = '<o xmlns:t="t"><t:h>题目</t:h><t:p>一<t:span>二</t:span><t:tab/>三</t:p></o>'
    target = BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", flowing)
    assert (await read(target.getvalue())).text == "题目\n一二\t三"


async def test_excel() -> None:
    read_ = await read(
        excel(("项目", "钱", None), ("书", 12.5, None), ("日子", datetime(2026, 12, 1, 9)), (None, "=1+1"))
    )
    assert read_.text.split("\n") == ["# 预算", "项目\t钱", "书\t12.5", "日子\t2026-12-01 09:00:00"]
    long = await read(excel(*((number, "x" * 50) for number in range(500))), 300)
    assert (long.cut, len(long.text)) == (True, 300)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "gb18030"])
async def test_plain_text_in_the_ways_people_write_it(encoding: str) -> None:
    text = "借书证在一楼办。\r\n带身份证。"
    assert (await read(text.encode(encoding))).text == "借书证在一楼办。\n带身份证。"


async def test_text_loses_its_controls_and_keeps_its_lines() -> None:
    assert (await read("一\t二\n三\x1b[2J".encode())).text == "一\t二\n三[2J"


def locked(data: bytes, password: str) -> bytes:
    writer, target = PdfWriter(PdfReader(BytesIO(data))), BytesIO()
    writer.encrypt(password, "owner", algorithm="RC4-128")
    writer.write(target)
    return target.getvalue()


async def test_what_is_locked_is_said_to_be() -> None:
    assert await why(locked(pdf("secret"), "geheim")) == "locked"
    assert (await read(locked(pdf("open to all"), ""))).text == "open to all"
    assert await why(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + "EncryptedPackage".encode("utf-16-le")) == "locked"
    assert await why(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\x00" * 600) == "old"
    flagged = bytearray(word("<w:p/>"))
    at = flagged.index(b"PK\x01\x02")
    flagged[at + 8] |= 1
    assert await why(bytes(flagged)) == "locked"


async def test_what_has_no_text_is_said_to_have_none() -> None:
    assert await why(pdf("")) == "scanned"
    assert await why(word("<w:p/>")) == "empty"
    assert await why(b" \n\t \n") == "empty"


LAUGHS = '<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;">]>'
OUTSIDE = '<!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>'


def member_bomb() -> bytes:
    return word("<w:p><w:r><w:b>" + "<w:i/>" * 6_000_000 + "</w:b></w:r></w:p>")


def lying_sizes() -> bytes:
    """A member that is said to be small and is not."""
    data = bytearray(zipped({"[Content_Types].xml": "", "word/document.xml": b" " * 70_000_000}))
    at = data.index(b"PK\x01\x02", data.index(b"PK\x01\x02") + 4)
    data[at + 24 : at + 28] = (100).to_bytes(4, "little")
    return bytes(data)


def deep_pdf() -> bytes:
    """Arrays within arrays, and pages that are their own parents."""
    return pdf("x").replace(b"/MediaBox [0 0 600 800]", b"/MediaBox " + b"[" * 50_000 + b"]" * 50_000)


def endless_pdf() -> bytes:
    return pdf("x").replace(b"/Kids [4 0 R]", b"/Kids [2 0 R]")


def stream_bomb() -> bytes:
    content = zlib.compress(zlib.compress(b"\x00" * 260_000_000))
    inside = b"<< /Length %d /Filter [/FlateDecode /FlateDecode] >>\nstream\n%s\nendstream" % (len(content), content)
    plain = pdf("MARK")
    at, end = plain.index(b"5 0 obj\n") + 8, plain.index(b"\nendobj", plain.index(b"5 0 obj\n"))
    return plain[:at] + inside + plain[end:]


def many_members() -> bytes:
    return zipped({"[Content_Types].xml": "", **{f"word/{number}": "" for number in range(6000)}})


def wide_excel() -> bytes:
    """A sheet that says it is larger than the world."""
    data = excel(("a",))
    source = zipfile.ZipFile(BytesIO(data))
    members: dict[str, str | bytes] = {one.filename: source.read(one) for one in source.infolist()}
    rows = b'<row r="1"><c r="XFD1" t="n"><v>1</v></c></row><row r="1048576"><c r="XFD1048576"><v>2</v></c></row>'
    sheet = b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>%s</sheetData></worksheet>'
    return zipped({**members, "xl/worksheets/sheet1.xml": sheet % rows})


HOSTILE: dict[str, Callable[[], bytes]] = {
    "a member that unpacks to a hundred megabytes": member_bomb,
    "a member that lies about its size": lying_sizes,
    "entities that multiply": lambda: zipped({"[Content_Types].xml": "", "word/document.xml": LAUGHS + "<x>&b;</x>"}),
    "an entity from outside": lambda: zipped({"[Content_Types].xml": "", "word/document.xml": OUTSIDE + "<x>&a;</x>"}),
    "entities in a workbook": lambda: zipped(
        {"[Content_Types].xml": LAUGHS + "<x>&b;</x>", "xl/workbook.xml": LAUGHS + "<x>&b;</x>"}
    ),
    "elements within elements": lambda: word("<w:p>" * 100_000),
    "arrays within arrays": deep_pdf,
    "pages that are their own parents": endless_pdf,
    "a stream of streams": stream_bomb,
    "thousands of members": many_members,
    "a sheet without end": wide_excel,
    "a zip of nothing": lambda: b"PK\x03\x04word/" + os.urandom(2000),
    "half a PDF": lambda: pdf("x" * 500)[:300],
    "a PDF of noise": lambda: b"%PDF-1.7\n" + os.urandom(20_000),
    "a PDF that is all digits": lambda: b"%PDF-1.7\n" + b"9" * 3_000_000,
}


@pytest.mark.parametrize("name", HOSTILE)
async def test_what_is_made_to_break_a_reader_ends_in_a_word(name: str) -> None:
    data = HOSTILE[name]()
    try:
        found = await read(data, 2000, seconds=3)
    except Broken as error:
        found = Read(SAID[error.why].en)
    assert 0 < len(found.text) <= 2000
    assert "root:" not in found.text
    assert "hahaha" not in found.text


async def test_memory_is_bounded() -> None:
    assert await why(stream_bomb(), memory=200) in ("broken", "large", "scanned", "slow")


async def test_a_reading_that_is_dropped_ends_its_process() -> None:
    children = Children(at_once=1)
    job = Job("document", "application/pdf", 10_000_000, seconds=60)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(children.read(job, pdf(*("x" * 500 for _ in range(2000)))), 0.3)
    assert (await children.read(job, pdf("next"))).text == "next"
