"""The photographs, their labels, and the transforms, which are the same for every
loader."""

import pathlib

SIZE = 224
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
# Mean and standard deviation of pixels from 0 to 255.
PIXEL_MEAN = tuple(255 * value for value in MEAN)
PIXEL_STD = tuple(255 * value for value in STD)
AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)  # arguments of RandomResizedCrop


def listed(uri):
    """Returns (paths, labels) of a folder of class folders."""
    folders = sorted(path for path in pathlib.Path(uri).iterdir() if path.is_dir())
    found = [(str(path), label) for label, folder in enumerate(folders)
             for path in sorted(folder.glob("*.jpg"))]
    return [path for path, _ in found], [label for _, label in found]
