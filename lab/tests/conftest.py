"""Fixtures that several laboratory tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import number_data
import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(scope="session")
def prediction_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder with two small corpora in `data`, a file of plain texts and a tiny masked language model in `bert`."""
    folder = tmp_path_factory.mktemp("prediction")
    for corpus in ("units", "market"):
        (folder / "data" / corpus).mkdir(parents=True)
        number_data.write_data(folder / "data" / corpus)
    texts = '{"text": "A cat sat on the mat."}\n{"text": "It has 3 legs."}\n'
    (folder / "data" / "plain.jsonl").write_text(texts, "utf-8")
    number_data.write_model(folder / "bert")
    return folder
