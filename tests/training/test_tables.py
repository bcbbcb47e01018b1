"""Tables as training texts: serialisation, limits, what is left out, mixes with texts, bad input."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
import torch

from numerate.config import ConfigError
from numerate.training.build import build
from numerate.training.data import encode, texts_of
from numerate.training.run import load_run
from numerate.training.sources import Texts, tables_of
from numerate.training.tables import Table, TableTexts
from numerate.training.text_files import SourceError

if TYPE_CHECKING:
    from pathlib import Path

CUPS = {
    "id": "cups",
    "title": "Cups",
    "section_title": "Since 1999",
    "header": ["year", "wins"],
    "rows": [["1999", "7"], [2000, None]],
}
SALES = {
    "table": {"uid": "s1", "table": [["", "2019", "2018"], ["Sales", "$1,452.4", "$1,146.2"]]},
    "paragraphs": [{"text": "Sales rose by 26.7%."}],
    "questions": [{"question": "How large were sales in 2019?"}],
}


def write(file: Path, *rows: Any) -> str:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(file)


def test_tables_and_texts_in_one_stream(tmp_path: Path) -> None:
    mixed = write(tmp_path / "m.jsonl", {"text": "7 of 12"}, CUPS, SALES)
    assert list(Texts((mixed,), tables=TableTexts(between=" [SEP] "))) == [
        "7 of 12",
        "Cups. Since 1999 [SEP] year wins 1999 7 2000",
        "How large were sales in 2019? [SEP] 2019 2018 Sales $1,452.4 $1,146.2",
        "Sales rose by 26.7%. [SEP] 2019 2018 Sales $1,452.4 $1,146.2",
    ]
    columns = TableTexts(order="columns", empty="NONE", cells=" ; ")
    assert list(columns.texts(next(tables_of(write(tmp_path / "c.jsonl", CUPS))))) == [
        "Cups. Since 1999 | year ; 1999 ; 2000 ; wins ; 7 ; NONE"
    ]
    with pytest.raises(SourceError, match=r"m\.jsonl:2: field 'text' is missing; it has 'id'"):
        list(Texts((mixed,)))


def test_limits_are_those_of_the_paper() -> None:
    limits = load_run("luna").data.tables
    assert limits is not None and (limits.rows, limits.text_chars, limits.text_numbers) == (20, 256, 7)
    assert (limits.cell_chars, limits.cell_numbers) == (128, 3) and limits == load_run("luna-scratch").data.tables
    rows = tuple((f"r{row}", "1 2 3 4 5") for row in range(30))
    text, cells = next(limits.texts(Table("", "", (), rows), ["words 1 2 3 4 5 6 7 8 9 " + "x" * 500])).split(" [SEP] ")
    assert text == "words 1 2 3 4 5 6 7", "the text ends before its eighth number"
    assert cells.split("r")[1:] == [f"{row} 1 2 3 " for row in range(19)] + ["19 1 2 3"]
    long = next(limits.texts(Table("", "", (), (("y" * 300,),)), ["x" * 500]))
    assert long == "x" * 256 + " [SEP] " + "y" * 128


def test_statements_and_tables_that_are_left_out(tmp_path: Path) -> None:
    said = [{"table_id": "cups", "statement": f"they won {n} cups", "label": n % 2} for n in (6, 7, 9)]
    same = {"id": "other", "rows": [["1999 ", "7"], ["2000"]]}
    options = TableTexts(statements=(write(tmp_path / "s.jsonl", *said),))
    file = write(tmp_path / "t.jsonl", CUPS, SALES)
    texts = list(Texts((file,), tables=options))
    assert texts[:2] == [f"Cups. Since 1999 . they won {n} cups | year wins 1999 7 2000" for n in (7, 9)], "true ones"
    left = TableTexts(leave_out=(write(tmp_path / "x.jsonl", same),))
    kept = [text.partition(" | ")[0] for text in Texts((file,), tables=left)]
    assert kept == ["How large were sales in 2019?", "Sales rose by 26.7%."], "the same cells in another spelling"
    with pytest.raises(SourceError, match=r"s\.jsonl:1: field 'label' is 'maybe', expected 1 \(true\) or 0"):
        write(tmp_path / "s.jsonl", said[0] | {"label": "maybe"})
        list(Texts((file,), tables=options))


def test_tables_are_left_out_whether_or_not_their_header_is_told_apart(tmp_path: Path) -> None:
    table: list[list[str]] = SALES["table"]["table"]
    apart = {"id": "mine", "header": table[0], "rows": table[1:]}
    for learnt, other in ((SALES, apart), (apart, SALES)):
        options = TableTexts(leave_out=(write(tmp_path / "x.jsonl", other),))
        texts = Texts((write(tmp_path / "t.jsonl", learnt, CUPS),), tables=options)
        assert [text.partition(" | ")[0] for text in texts] == ["Cups. Since 1999"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": "t1", "header": ["n"], "rows": []}', r"t\.jsonl:1: table 't1' has no rows; add some or remove"),
        ('{"id": "t1", "header": ["n"]}', r"t\.jsonl:1: table 't1' has no rows"),
        ('{"table": {"uid": "u9"}, "questions": []}', r"t\.jsonl:1: table 'u9' has no rows"),
        ('{"table": {"table": [["1"]]}, "questions": 5}', r"t\.jsonl:1: field 'questions' must be a list, got '5'"),
        ('{"id": "t1", "rows": ["1"]}', r"t\.jsonl:1: table 't1' has the row '1', which is no list of cells"),
        ('{"id": "t1", "rows": [[[1]]]}', r"t\.jsonl:1: table 't1' has the cell '\[1\]', which is neither text"),
        ('{"id": "t1", "rows": [["1"]]}\n{"id": ', r"t\.jsonl:2: not JSON"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "t.jsonl").write_text(content)
    with pytest.raises(SourceError, match=message) as caught:
        list(Texts((str(tmp_path / "t.jsonl"),), tables=TableTexts()))
    assert "\n" not in str(caught.value)
    with pytest.raises(ConfigError, match="rows must be at least 1 or null, got 0"):
        TableTexts(rows=0)


def test_a_run_learns_from_tables(tmp_path: Path) -> None:
    train = write(
        tmp_path / "t.jsonl", *[CUPS | {"id": str(n), "rows": [[n, 7 * n]]} for n in range(20)], {"text": "7 of 12"}
    )
    changes = ("training.use_cpu=true", "training.disable_tqdm=true", "training.max_steps=2")
    run = load_run("luna", scale="tiny", changes=changes).with_data(train=train)
    trainer = build(run, tmp_path / "o")
    assert len(trainer.train_dataset) == 21
    row, tokenizer = trainer.train_dataset[3], trainer.model.processor.tokenizer
    assert list(row["input_ids"]).count(tokenizer.sep_token_id) == 2, "[SEP] between text and table is a token"
    trainer.train()
    # Other limits are other texts: the encoded ones are not taken.
    texts = texts_of(run, "train")
    assert texts is not None
    again = encode(texts, trainer.model, tmp_path / "shards")
    other = load_run("luna", scale="tiny", changes=("data.tables.rows=1",)).with_data(train=train)
    assert encode(texts_of(other, "train"), trainer.model, tmp_path / "shards").meta != again.meta  # type: ignore[arg-type]


def test_from_scratch_there_is_no_teacher(tmp_path: Path) -> None:
    train = write(tmp_path / "t.jsonl", *[{"text": f"It weighs {n} kg, or {2 * n} pounds."} for n in range(40)])
    changes = ("training.use_cpu=true", "training.disable_tqdm=true", "training.max_steps=2")
    trainer = build(load_run("luna-scratch", scale="tiny", changes=changes).with_data(train=train), tmp_path / "o")
    trainer.train()
    model: Any = trainer.model
    assert model.objective.teacher is None and model.objective.alpha == 0
    # In training, too, the loss is L_MLM of section 3.2.2, which `distillation` has in evaluation.
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    batch = trainer.data_collator([trainer.train_dataset[n] for n in range(12)])
    learnt = float(model.train()(**batch, return_loss=True).loss.detach())
    assert learnt == pytest.approx(float(model.eval()(**batch, return_loss=True).loss.detach()), rel=1e-5)
    distilled = build(load_run("luna", scale="tiny", changes=changes).with_data(train=train), tmp_path / "d")
    distilled.train()
    assert distilled.model.objective.teacher is not None, "unlike pre-training from a checkpoint"  # type: ignore[union-attr]
