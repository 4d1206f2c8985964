"""Ray Train, Lightning, Accelerate and the Trainer of Hugging Face. The examples run on
the real frameworks, and resume exactly from checkpoints."""

import importlib.util
import os
import pathlib
import re
import subprocess
import sys

import pytest
from daemons import ROOT
from trouble import PATIENCE

FRAMEWORKS = ROOT / ".cache" / "frameworks"
EXAMPLES = ROOT / "client" / "python" / "examples"
TORCH_1_13 = pathlib.Path(__file__).parent / "torch_1_13"
# The Python that runs the tests has recent frameworks of its own.
TODAY = importlib.util.find_spec("lightning") is not None
# The default rendezvous of Debian's torch 1.13 fails with its Python 3.11.
LAUNCH = ("-m", "torch.distributed.run", "--rdzv_backend=c10d",
          "--rdzv_endpoint=localhost:0", "--nnodes=1",
          "--nproc_per_node=2", "--redirects=1", "--tee=1",
          *([] if TODAY else [TORCH_1_13 / "run_and_leave.py"]))
LOSS = re.compile(r"epoch (\d+): loss (\d+\.\d+)")

pytestmark = pytest.mark.skipif(
    not TODAY and not FRAMEWORKS.exists(),
    reason="tools/frameworks.txt is not installed: see tools/setup")


def run(folder, *command):
    """Runs Python with the frameworks, and with one thread so that sums are equal.
    Returns the output."""
    path = [ROOT / "client" / "python"]
    if not TODAY:
        path += [TORCH_1_13, FRAMEWORKS]
    environment = dict(
        os.environ, PYTHONPATH=os.pathsep.join(map(str, path)), OMP_NUM_THREADS="1",
        HOME=str(folder), CUDA_VISIBLE_DEVICES="", ACCELERATE_USE_CPU="true",
        RAY_USAGE_STATS_ENABLED="0", RAY_DEDUP_LOGS="0", RAY_ADDRESS="local",
        HF_HUB_OFFLINE="1")
    done = subprocess.run(
        [sys.executable, *map(str, command)], env=environment, cwd=EXAMPLES,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True, timeout=PATIENCE)
    assert done.returncode == 0, done.stdout
    assert "begins again" not in done.stdout
    return done.stdout


def losses(said):
    """Returns the loss of each epoch."""
    return {int(epoch): loss for epoch, loss in LOSS.findall(said)}


def script(folder, text, *command):
    """Writes `text` as a script, and runs it as `run` does."""
    path = folder / "script.py"
    path.write_text(text)
    return run(folder, *command, path)


@pytest.mark.parametrize("processes", [1, 2])
def test_lightning_goes_on_from_its_checkpoints(daemon, photos, tmp_path, processes):
    command = ("lightning_train.py", photos, "--classes=3", "--batch-size=4",
               "--epochs=3", f"--processes={processes}")
    saved = tmp_path / "checkpoints"
    whole = losses(run(tmp_path, *command, f"--checkpoints={saved}", "--every=4"))
    assert len(set(whole.values())) == len(whole) == 3
    steps = 12 // processes
    for step in (4, steps + 4 - steps % 4):  # steps within the epochs 0 and 1
        rest = losses(run(tmp_path, *command, f"--resume={saved}/step={step}.ckpt"))
        begun = step // steps
        assert set(rest) == set(range(begun, 3))
        assert rest[begun] != whole[begun]  # of the steps after the checkpoint only
        assert [rest[i] for i in range(begun + 1, 3)] == [
            whole[i] for i in range(begun + 1, 3)]


def test_lightning_evaluates_and_predicts_as_with_torchs_loader(daemon, tmp_path):
    said = script(tmp_path, """
import lightning, torch, forebay
from torch.utils.data import BatchSampler, DataLoader, Dataset, SequentialSampler
class Numbers(Dataset):
    def __getitem__(self, index):
        return torch.tensor([float(index)])
    def __len__(self):
        return 10
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer, self.seen = torch.nn.Linear(1, 1), []
    def training_step(self, batch, _):
        return self.layer(batch).sum()
    def validation_step(self, batch, number, dataloader_idx=0):
        self.seen.append((dataloader_idx, number, batch.flatten().tolist()))
    test_step = validation_step
    def predict_step(self, batch, number, dataloader_idx=0):
        return batch.flatten().tolist()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.01)
def loaders(kind):
    batches = BatchSampler(SequentialSampler(range(10)), 3, drop_last=False)
    return [kind(Numbers(), 4, num_workers=1),
            kind(Numbers(), num_workers=1, batch_sampler=batches)]
def told(kind):
    model = Model()
    trainer = lightning.Trainer(
        max_epochs=2, accelerator="cpu", logger=False, enable_checkpointing=False,
        enable_progress_bar=False, enable_model_summary=False)
    trainer.fit(model, kind(Numbers(), 4, num_workers=1, shuffle=True),
                loaders(kind))
    trainer.validate(model, loaders(kind), verbose=False)
    trainer.test(model, loaders(kind), verbose=False)
    return model.seen, trainer.predict(model, loaders(kind))
if __name__ == "__main__":
    ours, theirs = told(forebay.DataLoader), told(DataLoader)
    print("equal:", ours == theirs, len(ours[0]), sum(ours[1], []))
""")
    # There are a sanity check, two epochs, a validation and a test. The batches come
    # from two loaders each.
    predicted = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9],
                 [0, 1, 2], [3, 4, 5], [6, 7, 8], [9]]
    batches = 4 + 4 * len(predicted)
    assert f"equal: True {batches} {[list(map(float, one)) for one in predicted]}" in (
        said)


@pytest.mark.parametrize("launch", [(), LAUNCH], ids=["one process", "two"])
def test_accelerate_goes_on_from_its_state(daemon, photos, tmp_path, launch):
    steps = 12 if not launch else 6
    command = (*launch, "accelerate_train.py", photos, "--batch-size=4",
               "--epochs=3", "--accumulate=5")
    said = run(tmp_path, *command)
    # The last batch of an epoch ends an accumulation of gradients.
    assert re.findall(r"(\d+) steps", said) == [str(-(-steps // 5))] * 3
    saved = tmp_path / "state"
    run(tmp_path, *command, f"--save={saved}", f"--save-after={steps + 5}")
    rest = losses(run(tmp_path, *command, f"--resume={saved}"))
    assert set(rest) == {1, 2} and rest[2] == losses(said)[2]


def test_accelerate_wants_the_loader_of_its_rank(daemon, photos, tmp_path):
    said = script(tmp_path, f"""
import accelerate, forebay
from forebay.accelerate import prepare
loader = forebay.DataLoader({str(photos)!r}, 4, rank=1, world_size=2,
                            transform=forebay.transforms.CenterCrop(64))
try:
    prepare(accelerate.Accelerator(), loader)
except forebay.InvalidArgument as error:
    print(error)
""")
    assert ("the loader reads as rank 1 of 2, but the accelerator has rank 0 of 1"
            in said)


def test_accelerate_finds_the_end_of_a_loader_without_length(daemon, tmp_path):
    said = script(tmp_path, """
import accelerate, forebay, torch
from forebay.accelerate import prepare
class Numbers(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter(range(10))
if __name__ == "__main__":
    loader = prepare(accelerate.Accelerator(), forebay.DataLoader(Numbers(), 4))
    for batch in loader:
        state = loader.state_dict()
        print(batch.tolist(), loader.end_of_dataloader)
        if batch[0] == 4:
            saved = state
    loader.load_state_dict(saved)
    print([batch.tolist() for batch in loader])
    print(loader.gradient_state.in_dataloader)
""")
    assert said.splitlines() == [
        "[0, 1, 2, 3] False", "[4, 5, 6, 7] False", "[8, 9] True", "[[8, 9]]",
        "False"]


@pytest.mark.parametrize("launch", [(), LAUNCH], ids=["one process", "two"])
def test_trainer_goes_on_from_its_checkpoints(daemon, photos, tmp_path, launch):
    output = tmp_path / "run"
    command = (*launch, "trainer_train.py", photos, "--batch-size=4",
               "--epochs=2", f"--output={output}", "--save-steps=4",
               f"--validation={photos}")
    steps = 12 if not launch else 6
    # Transformers 5 prints the figures of training as texts.
    last = re.compile(r"'loss': '?(\d\.\d+)'?, 'grad_norm': '?(\d+\.\d+)[^}]*"
                      r"'epoch': '?2\b")
    measured = re.compile(r"'eval_loss': '?(\d\.\d+)")
    said = run(tmp_path, *command)
    for step in (4, steps):  # in mid-epoch, and at the begin of the last epoch
        if step % 4:
            continue
        rest = run(tmp_path, *command, f"--resume={output}/checkpoint-{step}")
        assert "holds no position" not in rest
        assert last.findall(rest) == last.findall(said) != []
        # The ranks print the same number at different times, and one of them rounds it.
        assert sorted(measured.findall(rest)) == sorted(measured.findall(said)) != []


@pytest.mark.parametrize("launch", [(), LAUNCH], ids=["one process", "two"])
def test_trainer_measures_as_its_own_loader_does(daemon, photos, tmp_path, launch):
    """47 images cannot be divided evenly between two processes."""
    said = script(tmp_path, f"""
import sys
sys.path.insert(0, {str(EXAMPLES)!r})
import torch, transformers, forebay.huggingface
from trainer_train import Classifier, Photos
from torchvision import transforms as T
def measure(kind):
    photos = Photos({str(photos)!r})
    photos.transform = T.Compose([T.Resize((64, 64)), T.ToTensor()])
    trainer = kind(
        Classifier(3), transformers.TrainingArguments(
            {str(tmp_path)!r}, per_device_eval_batch_size=4, report_to=[],
            disable_tqdm=True, remove_unused_columns=False),
        eval_dataset=torch.utils.data.Subset(photos, range(47)),
        compute_metrics=lambda given: {{"count": len(given.label_ids),
                                        "sum": int(given.label_ids.sum())}})
    made = trainer.get_eval_dataloader()
    told = trainer.evaluate()
    return type(made).__name__, [told[f"eval_{{name}}"]
                                 for name in ("loss", "count", "sum")]
if __name__ == "__main__":
    for kind in (forebay.huggingface.Trainer, transformers.Trainer):
        print(*measure(kind))
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
""", *launch)
    ours = set(re.findall(r"PreparedLoader (\[.*\])", said))
    theirs = set(re.findall(r"DataLoader\w* (\[.*\])", said))
    assert len(ours) == 1 and ours == theirs
    assert re.search(r", 47, \d+\]", ours.pop())


def test_a_trainer_goes_on_in_the_epoch_that_it_was_in(daemon, tmp_path):
    """A resumed run logs the same epochs as a run without a break."""
    script(tmp_path, f"""
import json, os, torch, transformers, forebay.huggingface
class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 24
    def __getitem__(self, number):
        return {{"x": torch.full((2,), number / 24),
                 "labels": torch.tensor(number % 2)}}
class Iterated(torch.utils.data.IterableDataset):
    def __iter__(self):
        return iter([Numbers()[number] for number in range(24)])
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.layer = torch.nn.Linear(2, 2)
    def forward(self, x, labels):
        scores = self.layer(x)
        return torch.nn.functional.cross_entropy(scores, labels), scores
class Seen(transformers.TrainerCallback):
    def __init__(self):
        self.seen = {{}}
    def on_step_end(self, args, state, control, **more):
        self.seen[state.global_step] = round(state.epoch, 6)
def logged(dataset, folder, resume, **arguments):
    seen = Seen()
    trainer = forebay.huggingface.Trainer(
        Model(), transformers.TrainingArguments(
            folder, per_device_train_batch_size=2, logging_steps=1, save_steps=2,
            save_strategy="steps", report_to=[], disable_tqdm=True, **arguments),
        train_dataset=dataset, callbacks=[seen])
    trainer.train(resume_from_checkpoint=resume)
    last = transformers.trainer_utils.get_last_checkpoint(folder)
    with open(os.path.join(last, "trainer_state.json")) as file:
        saved = json.load(file)["epoch"]
    return seen.seen, [(one["step"], one["epoch"], one["loss"])
                       for one in trainer.state.log_history if "loss" in one], saved
if __name__ == "__main__":
    for number, (dataset, step, arguments) in enumerate([
            (Numbers(), 2, {{"num_train_epochs": 3}}),
            (Numbers(), 12, {{"num_train_epochs": 2}}),
            (Numbers(), 2, {{"num_train_epochs": 3, "gradient_accumulation_steps": 3}}),
            (Numbers(), 2, {{"num_train_epochs": 6, "gradient_accumulation_steps": 5}}),
            (Numbers(), 8, {{"num_train_epochs": 6, "gradient_accumulation_steps": 5}}),
            (Iterated(), 2, {{"max_steps": 11}}),
            (Iterated(), 14, {{"max_steps": 27}})]):
        folder = os.path.join({str(tmp_path)!r}, str(number))
        whole = logged(dataset, folder, None, **arguments)
        assert len(whole[0]) > 10, whole
        middle = os.path.join(folder, f"checkpoint-{{step}}")
        again = logged(dataset, folder, middle, **arguments)
        rest = {{at: epoch for at, epoch in whole[0].items() if at > step}}
        assert again[0] == rest, (again[0], whole[0])
        assert again[1:] == whole[1:], (again[1:], whole[1:])
""")


def test_trainers_share_what_a_collator_makes(daemon, photos, tmp_path):
    """Equal runs find each other, because a digest can be computed of everything that a
    Trainer passes on."""
    said = script(tmp_path, f"""
import sys
sys.path.insert(0, {str(EXAMPLES)!r})
import logging, transformers, forebay.huggingface
logging.basicConfig(level=logging.INFO)
from trainer_train import Classifier, Photos
if __name__ == "__main__":
    for removes in (False, True):
        trainer = forebay.huggingface.Trainer(
            Classifier(3), transformers.TrainingArguments(
                {str(tmp_path)!r}, report_to=[], remove_unused_columns=removes),
            train_dataset=Photos({str(photos)!r}))
        batch = next(iter(trainer.get_train_dataloader()))
        print(sorted(batch), tuple(batch["pixel_values"].shape))
""")
    assert said.count("['labels', 'pixel_values'] (8, 3, 64, 64)") == 2
    assert "shared with no other" not in said


# On a busy machine, the last lines of a worker come late or never.
@pytest.mark.alone
def test_ray_train_starts_again_where_it_was(daemon, photos, tmp_path):
    command = ("ray_train.py", photos, "--batch-size=4", "--epochs=3",
               f"--storage={tmp_path}")
    whole = run(tmp_path, *command)
    # Each rank has its half of the images.
    assert re.findall(r"on rank 0, (\d+) images", whole) == ["24"] * 3
    failed = run(tmp_path, *command, "--fail-after=1")
    assert "as --fail-after asks" in failed
    assert losses(failed) == losses(whole) and len(losses(whole)) == 3


def test_ranks_of_ray_train_without_torch_distributed(daemon, photos, tmp_path):
    """Each rank writes a file, because a worker's last lines may come late or never."""
    script(tmp_path, f"""
import pathlib, ray.train.torch
# Older Ray and today's have the trainer that starts no torch.distributed in
# different modules.
DataParallelTrainer, = ray.train.torch.TorchTrainer.__bases__
def work():
    import forebay
    loader = forebay.DataLoader({str(photos)!r}, 4, distributed=True,
                                transform=forebay.transforms.CenterCrop(64))
    ids = sorted(i for batch in loader for i in batch.sample_ids.tolist())
    said = pathlib.Path({str(tmp_path)!r}) / f"rank-{{loader.rank}}"
    said.write_text(f"{{loader.world_size}} {{loader.local_rank}} {{ids}}")
DataParallelTrainer(
    work, scaling_config=ray.train.ScalingConfig(
        num_workers=2, resources_per_worker={{"CPU": 0.5}}),
    run_config=ray.train.RunConfig(storage_path={str(tmp_path)!r})).fit()
""")
    for rank in range(2):
        said = (tmp_path / f"rank-{rank}").read_text()
        assert said == f"2 {rank} {list(range(rank, 48, 2))}"


def test_torchdata_finds_loaders_stateful(daemon, photos, tmp_path):
    said = script(tmp_path, f"""
import importlib.util, pathlib
# The package itself wants a newer torch.
place = pathlib.Path({str(FRAMEWORKS)!r}) / "torchdata/stateful_dataloader/stateful.py"
spec = importlib.util.spec_from_file_location("stateful", place)
stateful = importlib.util.module_from_spec(spec)
spec.loader.exec_module(stateful)
import forebay
loader = forebay.DataLoader({str(photos)!r}, 4,
                            transform=forebay.transforms.CenterCrop(64))
print(isinstance(loader, stateful.Stateful))
""")
    assert said.split() == ["True"]


def test_torchdata_may_be_imported_behind_install(daemon, tmp_path):
    """torchdata's loader derives from a subscript of torch's class."""
    said = script(tmp_path, """
import torch, forebay
forebay.torch.install()
from torchdata.stateful_dataloader import StatefulDataLoader
print(issubclass(StatefulDataLoader, forebay.DataLoader))
""")
    assert said.split()[-1] == "True"
