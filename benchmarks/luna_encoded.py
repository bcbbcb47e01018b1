"""Encodes beforehand what LUNA's runs would encode on an accelerator's time: texts of pre-training, questions, numbers.

    python benchmarks/luna_encoded.py --data DATA --model MINILM -o build/luna-data

Beside what `findings_runs.py prepare` writes into the folder: `encoded/RECIPE`, the texts of the tables as each recipe
reads them, whose files `restore_all` unpacks; and `made.zip`, files that trials share (TAT-QA's questions as each
recipe reads them, and the numbers of the probes), which `run` takes with `--done`.
"""

from __future__ import annotations

import argparse
import gzip
import lzma
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

from numerate_lab.engine.task import Workspace
from numerate_lab.tasks.pretraining.pretraining_task import Pretraining, PretrainingTrial, encode_texts
from numerate_lab.tasks.probes.probe_task import ProbeTask
from numerate_lab.tasks.probes.probe_trial import ProbeTrial
from numerate_lab.tasks.tatqa.tatqa_task import TatqaTask
from numerate_lab.tasks.tatqa.tatqa_trial import TatqaTrial

if TYPE_CHECKING:
    from collections.abc import Sequence

STARTS = ("luna@pretrained", "in-place@default")
"""One row of each recipe."""
ROWS = ("bare", "luna", "in-place")
PROBES = "probes-long"


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="folder of the data")
    parser.add_argument("--model", required=True, help="folder of the masked language model")
    parser.add_argument("-o", "--output", default="build/luna-data", help="folder to write to")
    parser.add_argument("--most-tables", type=int, help="for the probes: of each file, all by default")
    parser.add_argument("--held-out", type=int, default=400, help="texts of pre-training that are held out")
    parser.add_argument("--no-texts", dest="texts", action="store_false", help="keep the encoded texts that are there")
    options = parser.parse_args(arguments)
    data, output = Path(options.data), Path(options.output)
    left_out = [str(data / name) for name in ("tabfact/tables.jsonl.gz", "tatqa/dev.json.gz")]
    for row in STARTS if options.texts else ():
        trial = PretrainingTrial(
            encoding=row, source=str(data), model=options.model, leave_out=tuple(left_out), **Pretraining.encoding(row),
            dev=options.held_out,
        )  # fmt: skip
        place = encode_texts(trial, output / "encoded")
        for file in [file for file in place.rglob("*") if file.is_file() and file.suffix != ".xz"]:
            file.with_name(f"{file.name}.xz").write_bytes(lzma.compress(file.read_bytes(), preset=9))
            file.unlink()
        print(place, flush=True)
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        source = work / "dev.json"  # as `restore_all` leaves it there
        source.write_bytes(gzip.decompress((data / "tatqa" / "dev.json.gz").read_bytes()))
        for row in ROWS:
            shared = work / "shared" / "luna-tatqa"
            shared.mkdir(parents=True, exist_ok=True)
            task = TatqaTask(
                TatqaTrial(
                    encoding=row, source=str(source), model=options.model, **TatqaTask.encoding(row),
                ),
                Workspace(work, shared),
            )  # fmt: skip
            task.rows(task.build()[0], 0)
        probes = ProbeTrial(encoding="value", source=str(data), most_tables=options.most_tables)
        ProbeTask(probes, Workspace(work, work / "shared" / PROBES)).prepare(print)
        with zipfile.ZipFile(output / "made.zip", "w", zipfile.ZIP_LZMA) as archive:
            for file in sorted(file for file in (work / "shared").rglob("*") if file.suffix in (".npz", ".json")):
                archive.write(file, file.relative_to(work))
                print(file.relative_to(work), flush=True)


if __name__ == "__main__":
    sys.exit(main())
