"""`AtomicCheckpoints`: the stock Trainer with checkpoints that are written as a whole or not at all."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accelerate.utils import broadcast_object_list
from transformers import Trainer

from numerate.modeling.artefact import CONFIG_FILE, WEIGHTS_FILE
from numerate.modeling.trainer_checkpoint import save_base_files
from numerate.training.checkpoints import CheckpointError, damage, newest_whole, publish, rotate, staging
from numerate.training.objective import load_objective, save_objective

if TYPE_CHECKING:
    from torch import nn

    from numerate.modeling.number_model import NumberModel
    from numerate.training.progress import Throughput

__all__ = ["AtomicCheckpoints"]

TRAINER_STATE = "trainer_state.json"


class AtomicCheckpoints(Trainer):
    """The checkpoints of `NumberTrainer`: atomic, with a manifest and the objective's state."""

    _numbers: NumberModel | None
    _writing_to: Path | None = None
    throughput: Throughput

    def _complete(self, folder: str, wanted: Any) -> str:
        """The checkpoint to resume from; all processes take the choice of the main process."""
        if wanted is not True:
            wrong = damage(wanted) if (Path(wanted) / "manifest.json").exists() else None
            if wrong is not None:
                raise CheckpointError(
                    f"cannot resume from {str(wanted)!r}: {wrong}; the newest complete one is {newest_whole(folder)}"
                )
            return str(wanted)
        choice = [str(newest_whole(folder) or "") if self.args.should_save else ""]
        broadcast_object_list(choice)
        if not choice[0]:
            raise CheckpointError(f"no complete checkpoint in {folder!r} to resume from")
        return choice[0]

    def _save_checkpoint(self, model: nn.Module, trial: Any) -> None:
        """Lets the stock Trainer write into a temporary folder, and renames it when all is written."""
        run = Path(super()._get_output_dir(trial))
        target = run / f"checkpoint-{self.state.global_step}"
        inside = staging(target)
        if self.args.should_save:
            shutil.rmtree(inside, ignore_errors=True)
        self.accelerator.wait_for_everyone()
        push, self.args.push_to_hub = self.args.push_to_hub, False  # pushed after the renaming
        self._writing_to = inside
        try:
            with self.throughput.paused():
                super()._save_checkpoint(model, trial)
                if self._numbers is not None and self.args.should_save:
                    save_objective(self._numbers, inside / target.name)
                self._publish(inside / target.name, target)
        except Exception as error:  # on a full disk, torch and safetensors raise different classes
            shutil.rmtree(inside, ignore_errors=True)
            said = f"{target} could not be written: {error}; the newest complete one is {newest_whole(run)}"
            raise CheckpointError(said) from error
        finally:
            self._writing_to = None
            self.args.push_to_hub = push
        if push:
            self._push_from_checkpoint(str(target))
        if self.args.should_save:
            best = self.state.best_model_checkpoint
            rotate(run, self.args.save_total_limit, [target, *([best] if best else [])])

    def _save(self, output_dir: str | None = None, state_dict: Any = None) -> None:
        """Lets the stock Trainer write; adds what `numerate.from_pretrained` needs beside the weights."""
        super()._save(output_dir, state_dict)
        if self._numbers is not None and self.args.should_save:
            folder = Path(output_dir or str(self.args.output_dir))
            save_base_files(self._numbers, folder)
            for name in (CONFIG_FILE, WEIGHTS_FILE):  # of an older model, which would be loaded instead
                (folder / name).unlink(missing_ok=True)

    def save_pretrained(self, folder: str | Path, *, backbone: bool | None = None) -> None:
        """Saves the model for `numerate.from_pretrained`; options as `NumberModel.save_pretrained` takes them.

        All processes must call it; the main one writes.
        """
        # Sharded weights are gathered by all processes.
        state = self.accelerator.get_state_dict(self.model) if self.is_fsdp_enabled else None
        if self.args.should_save:
            model = self._bare(self.model)
            # A PeftModel around the whole model saves its adapters with our weights, and has no option `backbone`.
            options = {"backbone": backbone} if model is self._numbers else {}
            model.save_pretrained(folder, state_dict=state, **options)
        self.accelerator.wait_for_everyone()

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        if self._numbers is not None:
            load_objective(self._numbers, resume_from_checkpoint)
            self._numbers.fitted = True  # a trained head is not fitted again

    def _get_output_dir(self, trial: Any) -> str:
        return super()._get_output_dir(trial) if self._writing_to is None else str(self._writing_to)

    def _publish(self, written: Path, target: Path) -> None:
        if self.state.best_model_checkpoint == str(written):
            self.state.best_model_checkpoint = str(target)
            if self.args.should_save:
                self.state.save_to_json(str(written / TRAINER_STATE))
        self.accelerator.wait_for_everyone()
        # The first process, and then the first process of every machine with its own disk.
        for is_my_turn in (self.args.process_index == 0, self.args.local_process_index == 0):
            if is_my_turn and written.exists():
                publish(written, target)
                written.parent.rmdir()
            self.accelerator.wait_for_everyone()

    def _bare(self, model: Any) -> Any:
        return self.accelerator.unwrap_model(model, keep_torch_compile=False)
