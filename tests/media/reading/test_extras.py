"""Reading text in pictures and hearing voice, where the extras `ocr` and `speech` are installed; and what it says
without an extra."""

from __future__ import annotations

import math
import struct
import wave
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import pytest

from qingtuan.media.reading import voice
from qingtuan.media.reading.process import Children
from qingtuan.media.reading.reader import FileReader
from qingtuan.media.reading.told import Broken
from qingtuan.media.store import MediaStore

ocr = pytest.mark.skipif(find_spec("rapidocr_onnxruntime") is None, reason="the extra ocr is not installed")
speech = pytest.mark.skipif(not voice.installed(), reason="the extra speech is not installed")


@pytest.fixture
def reader(tmp_path: Path) -> FileReader:
    return FileReader(MediaStore(tmp_path / "media"), Children(), lambda: False, "zh")


def drawn(text: str) -> bytes:
    from PIL import Image, ImageDraw, ImageFont  # comes with the extra

    picture, target = Image.new("RGB", (640, 120), "white"), BytesIO()
    ImageDraw.Draw(picture).text((20, 30), text, font=ImageFont.load_default(44), fill="black")
    picture.save(target, "PNG")
    return target.getvalue()


def recorded(loudness: float, seconds: float = 1.0) -> bytes:
    target = BytesIO()
    with wave.open(target, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(16_000)
        tone = (int(loudness * 20_000 * math.sin(number / 5)) for number in range(int(16_000 * seconds)))
        file.writeframes(b"".join(struct.pack("<h", value) for value in tone))
    return target.getvalue()


async def test_without_the_extra_documents_a_pdf_is_said_to_be_beyond_it(
    reader: FileReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("qingtuan.media.reading.reader.NEEDED", {"/pdf": "no_such_module"})
    found = await reader.read(reader.store.put(b"%PDF-1.4\n%%EOF", "a.pdf"), 1000)
    assert found is not None
    assert found.why is not None
    assert "安装 documents" in found.why.zh
    plain = await reader.read(reader.store.put("一行字".encode(), "a.txt"), 1000)
    assert plain is not None
    assert plain.text.strip() == "一行字"


@ocr
async def test_text_in_a_picture_is_read(reader: FileReader) -> None:
    found = await reader.read(reader.store.put(drawn("Seat A12 at 09:00")), 1000)
    assert found is not None
    assert (found.how, found.why) == ("ocr", None)
    assert found.text.replace(" ", "") == "SeatA12at09:00"


@ocr
async def test_a_picture_without_text_or_of_noise_is_said_to_be(reader: FileReader) -> None:
    empty = await reader.read(reader.store.put(drawn("")), 1000)
    assert empty is not None
    assert empty.why is not None
    broken = await reader.read(reader.store.put(drawn("x")[:200]), 1000)
    assert broken is not None
    assert broken.why is not None


@speech
async def test_nothing_is_made_of_silence_and_noise(reader: FileReader) -> None:
    for data in (recorded(0.0), recorded(1.0), b"OggS" + b"\x00\x02" * 500):
        found = await reader.read(reader.store.put(data), 1000)
        assert found is not None
        assert found.text == ""
        assert found.why is not None


@speech
def test_weights_that_are_not_the_right_ones_are_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(voice, "MODEL_SHA256", "0" * 64)
    with pytest.raises(Broken):
        voice.prepared(tmp_path / "w")
    assert not (tmp_path / "w" / "model.bin").exists()


async def test_what_is_not_installed_is_said(reader: FileReader) -> None:
    from tests.fakes.platform import png

    if find_spec("rapidocr_onnxruntime") is None:
        found = await reader.read(reader.store.put(png()), 100)
        assert found is not None
        assert found.why is not None
        assert "llm.vision_model" in found.why.zh
    if not voice.installed():
        found = await reader.read(reader.store.put(recorded(1.0)), 100)
        assert found is not None
        assert found.why is not None
        assert "speech" in found.why.zh
