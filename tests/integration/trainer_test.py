"""The Trainer of Hugging Face: searches, checkpoints in other folders, evaluations."""

import re

from frameworks_test import pytestmark, script  # noqa: F401

SMALL = """
import os, pickle, types, torch, transformers, forebay.huggingface
class Numbers(torch.utils.data.Dataset):
    def __init__(self, first=0, size=10):
        self.first, self.size = first, size
    def __len__(self):
        return self.size
    def __getitem__(self, number):
        return {"x": torch.full((2,), (self.first + number) / 24),
                "labels": torch.tensor(number % 2)}
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layer = torch.nn.Linear(2, 2)
    def forward(self, x, labels):
        scores = self.layer(x)
        return torch.nn.functional.cross_entropy(scores, labels), x
def made(kind, folder, **arguments):
    return kind(Model(), transformers.TrainingArguments(
        folder, per_device_train_batch_size=2, per_device_eval_batch_size=4,
        logging_steps=1, save_steps=2, report_to=[], disable_tqdm=True, **arguments),
        train_dataset=Numbers(), eval_dataset=Numbers(2))
def losses(trainer):
    return {one["step"]: one["loss"] for one in trainer.state.log_history
            if "loss" in one}
"""


def test_a_run_of_a_search_has_positions_in_its_own_folder(daemon, tmp_path):
    """Trainer.hyperparameter_search gives each trial a folder of its own."""
    script(tmp_path, SMALL + f"""
import transformers.integrations
for module in (transformers.integrations, transformers.trainer,
               transformers.integrations.integration_utils):
    module.hp_params = lambda trial: {{}}
def searching(**arguments):
    trainer = made(forebay.huggingface.Trainer, {str(tmp_path)!r}, max_steps=4,
                   **arguments)
    trainer.hp_search_backend = transformers.trainer_utils.HPSearchBackend.OPTUNA
    trainer.hp_name = None
    trainer._hp_search_setup = lambda trial: None
    return trainer
class Tuned(transformers.TrainerCallback):
    def on_step_end(self, args, state, control, **more):
        if state.global_step == 3:  # as Ray Tune asks, in a folder of its own
            whole._tune_save_checkpoint({str(tmp_path / "tuned")!r})
if __name__ == "__main__":
    whole = searching()
    whole.add_callback(Tuned())
    whole.train(trial=types.SimpleNamespace(number=3))
    for folder, step in (("run-3", 2), ("tuned", 3)):
        folder = os.path.join({str(tmp_path)!r}, folder, f"checkpoint-{{step}}")
        assert os.path.exists(os.path.join(folder, "forebay_loader.pt")), folder
        rest = searching()
        rest.train(folder, types.SimpleNamespace(number=4))
        for at in range(step + 1, 5):
            assert losses(rest)[at] == losses(whole)[at], (step, at)
""")


def test_a_trainer_that_saves_elsewhere_goes_on(daemon, tmp_path):
    said = script(tmp_path, SMALL + f"""
import logging
logging.basicConfig()
class Own(forebay.huggingface.Trainer):
    def _save_checkpoint(self, model, trial, metrics=None):
        print("by own code")
class Placed(forebay.huggingface.Trainer):
    def _get_output_dir(self, trial):
        return os.path.join(super()._get_output_dir(trial), "placed")
if __name__ == "__main__":
    made(Own, {str(tmp_path)!r}, max_steps=4).train()
    made(Placed, {str(tmp_path)!r}, max_steps=4).train()
""")
    assert said.count("by own code") == 2
    missing = tmp_path / "checkpoint-2"
    assert f"{missing} is not a folder: the position of the loader is not saved" in said
    assert (tmp_path / "placed" / "checkpoint-4" / "forebay_loader.pt").exists()


def test_a_trainer_measures_what_its_arguments_say(daemon, tmp_path):
    """The last batch may be dropped, a subclass may choose samplers, and arguments may
    change between two evaluations."""
    said = script(tmp_path, SMALL + f"""
class Iterated(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([Numbers()[number] for number in range(6)])
class Once(torch.utils.data.Sampler):
    numbers = [7, 0, 0, 4, 3]
    def __init__(self):
        self.passes = 0
    def __len__(self):
        return 5
    def __iter__(self):
        self.passes += 1
        return iter([number + self.passes for number in self.numbers])
def first(samples):
    return transformers.default_data_collator(samples[:1])
def read(trainer, dataset):
    return [round(x * 24) for x in trainer.predict(dataset).predictions[:, 0].tolist()]
def told(kind):
    class Repeated(kind):
        def _get_eval_sampler(self, dataset):
            return Once()
    class Own(kind):
        def get_eval_dataloader(self, dataset=None):
            return super().get_eval_dataloader(Numbers(1, 2))
    folder = {str(tmp_path)!r}
    trainer = made(kind, folder, dataloader_drop_last=True)
    found = [read(trainer, trainer.eval_dataset), read(trainer, Iterated()),
             trainer.evaluate()["eval_loss"]]
    trainer.args.per_device_eval_batch_size = 3
    found += [read(trainer, trainer.eval_dataset), trainer.evaluate()["eval_loss"]]
    trainer.args.dataloader_drop_last = False
    found += [read(trainer, trainer.eval_dataset), trainer.evaluate()["eval_loss"]]
    trainer.data_collator = first
    found.append(read(trainer, trainer.eval_dataset))
    repeated = made(Repeated, folder)
    found += [read(repeated, repeated.eval_dataset) for _ in range(2)]
    again = pickle.loads(pickle.dumps(trainer))  # as Ray Tune does
    found.append(read(again, Numbers(3)))
    found += [read(made(Own, folder), Numbers(4, 5)), made(Own, folder).evaluate()[
        "eval_loss"]]
    return found
if __name__ == "__main__":
    ours, theirs = told(forebay.huggingface.Trainer), told(transformers.Trainer)
    print("ours  ", ours)
    print("theirs", theirs)
""")
    ours, theirs = (re.search(rf"^{kind} +(\[.*)", said, re.MULTILINE)[1]
                    for kind in ("ours", "theirs"))
    assert ours == theirs
    assert ours.startswith("[[2, 3, 4, 5, 6, 7, 8, 9], [0, 1, 2, 3, 4, 5], ")
