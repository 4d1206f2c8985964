"""Pipelines of other libraries and what they make of photographs, as files.

NAME.json has for each case its name and its pipeline: of every object the
module, the class and the attributes. NAME.npz has `in0`, `in1`, ...: uint8
(H, W, 3), and of each case `CASE.0`, `CASE.1`, ...
"""

import enum
import json
import pathlib

import numpy

HERE = pathlib.Path(__file__).parent
PACKAGES = ("torchvision", "albumentations")
COUNT, WIDTH, HEIGHT = 4, 120, 90


def inputs():
    """Crops of four photographs: uint8 (HEIGHT, WIDTH, 3) each."""
    with numpy.load(HERE / "photographs.npz") as kept:
        return [kept[f"in{number}"] for number in range(COUNT)]


def described(value):
    """A pipeline's attributes, as JSON has them."""
    if isinstance(value, (list, tuple, numpy.ndarray)):
        return [described(part) for part in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, numpy.generic):
        return value.item()
    if isinstance(value, dict):
        return {}
    if type(value).__module__ == "torch":
        return str(value)
    if isinstance(value, enum.Enum):
        return {"value": value.value}
    if type(value).__module__.partition(".")[0] not in PACKAGES:
        return None
    public = {name: described(held) for name, held in vars(value).items()
              if not name.startswith("_") and name != "training"
              and not callable(held)}
    return {"module": type(value).__module__, "class": type(value).__name__,
            "attributes": public}


def write(name, cases):
    """Writes NAME.json and NAME.npz.

    Args:
      cases: list of (name, pipeline, outputs).
    """
    told = [{"name": case, "pipeline": described(pipeline)}
            for case, pipeline, _ in cases]
    (HERE / f"{name}.json").write_text(json.dumps(told, indent=1) + "\n")
    numpy.savez_compressed(HERE / f"{name}.npz", **{
        f"{case}.{number}": output for case, _, outputs in cases
        for number, output in enumerate(outputs)})
