"""One of two processes that train together; started by test_processes.py, which reads its output."""

from __future__ import annotations

import hashlib
import json
import math
import os
import sys
from pathlib import Path
from typing import Any

from training_runs import Interrupt, Watch, losses_of, trainer_of
from two_process_runs import leave_group

OPTIONS = {
    "max_steps": 6, "per_device_train_batch_size": 2, "ddp_backend": "gloo", "save_strategy": "steps", "save_steps": 2,
    "gradient_accumulation_steps": 2, "eval_strategy": "steps", "eval_steps": 3, "save_total_limit": 2,
}  # fmt: skip


def digest(state: dict[str, Any]) -> str:
    return hashlib.sha256(b"".join(state[key].contiguous().numpy().tobytes() for key in sorted(state))).hexdigest()


def run(folder: Path, poison: bool = False, stop: int | None = None, resume: bool = False) -> dict[str, Any]:
    watch = Watch()
    trainer = trainer_of(folder, more={"callbacks": [watch, *([] if stop is None else [Interrupt(stop)])]}, **OPTIONS)
    watch.trainer = trainer
    passes = {"count": 0}

    def in_loss(_: Any, __: Any, output: Any) -> Any:
        passes["count"] += trainer.model.training
        if poison and trainer.args.process_index == 1 and trainer.model.training and passes["count"] == 3:
            output["loss"] = output["loss"] + math.inf  # in the second step, with a gradient as good as ever
        return output

    trainer.model.register_forward_hook(in_loss)
    try:
        trainer.train(resume_from_checkpoint=True if resume else None)
    except KeyboardInterrupt:
        return {}
    evaluated = [row for row in trainer.state.log_history if "eval_loss" in row]
    return {
        "weights": [digest(state) for state in watch.states],
        "losses": losses_of(trainer),
        "eval": [[row["eval_loss"], row.get("eval_numbers"), row.get("eval_log_mae")] for row in evaluated],
        "found": [[entry.step, entry.rank, len(entry.samples)] for entry in trainer.guard.found],
    }


if __name__ == "__main__":
    folder, rank = Path(sys.argv[1]), os.environ["RANK"]
    results = {"plain": run(folder / "plain"), "poisoned": run(folder / "poisoned", poison=True)}
    run(folder / "stopped", stop=3)
    results["resumed"] = run(folder / "stopped", resume=True)
    (folder / f"{rank}.json").write_text(json.dumps(results))
    leave_group()
