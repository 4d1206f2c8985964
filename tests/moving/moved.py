"""The stock script imagenet.py, and a copy with one line changed."""

import pathlib

STOCK = pathlib.Path(__file__).resolve().parent / "imagenet.py"
LINE = "from torch.utils.data import DataLoader\n"
CHANGED = "from forebay import DataLoader\n"


def write(folder):
    """Writes the changed script.

    Args:
      folder: pathlib.Path of the folder for the script.

    Returns:
      The script's path.
    """
    text = STOCK.read_text()
    if text.count(LINE) != 1:
        raise ValueError(f"{STOCK} must have this line once: {LINE}")
    path = folder / "imagenet_forebay.py"
    path.write_text(text.replace(LINE, CHANGED))
    return path
