"""The log of `serve`: ours line by line, others' by where they come from; bounded, and silent on words."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from qingtuan.cli import log_file
from qingtuan.cli.log_file import NAME, logging_to

SECRET = "sk-" + "a1" * 20


def test_what_stands_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ours, theirs = logging.getLogger("qingtuan.http"), logging.getLogger("some.library")
    with logging_to(tmp_path / "logs"):
        ours.info("listening on %s", "127.0.0.1")
        ours.debug("not this")
        ours.warning("a key: %s", SECRET)
        theirs.info("not this")
        theirs.warning("user said %s", "我的秘密")
        try:
            raise ValueError("我的秘密")
        except ValueError:
            ours.exception("it broke\nin two lines")
    ours.warning("afterwards")
    lines = (tmp_path / "logs" / NAME).read_text("utf-8").splitlines()
    assert [line.split(" ", 2)[2].split(" [")[0] for line in lines] == [
        "INFO qingtuan.http listening on 127.0.0.1",
        "WARNING qingtuan.http a key:",
        f"WARNING some.library {Path(__file__).name}:23",
        "ERROR qingtuan.http it broke in two lines",
    ]
    text = "\n".join(lines)
    assert "ValueError at test_log_file.py" in text
    said = capsys.readouterr().err
    for one in (text, said):
        assert SECRET not in one
        assert "我的秘密" not in one
    assert "listening" not in said
    assert "it broke" in said


def test_it_grows_no_further_than_it_may(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_file, "_BYTES", 2000)
    with logging_to(tmp_path):
        for number in range(500):
            logging.getLogger("qingtuan.serve").info("line %s", number)
    files = sorted(tmp_path.glob(f"{NAME}*"))
    assert len(files) == 5
    assert all(file.stat().st_size <= 2000 for file in files)
    assert all(file.stat().st_mode & 0o077 == 0 for file in files)


def test_a_folder_that_cannot_be_written_is_no_reason_not_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "logs").write_text("", "utf-8")
    with logging_to(tmp_path / "logs"):
        logging.getLogger("qingtuan.serve").warning("still here")
    assert "still here" in capsys.readouterr().err
