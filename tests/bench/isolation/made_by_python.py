"""A dataset as users write them, with PIL and NumPy, and a dataset that hangs."""

import os
import time

import numpy
import PIL.Image


class Inverted:
    """The photographs of class folders, inverted."""

    def __init__(self, root):
        self._samples = [
            (os.path.join(root, name, file), label)
            for label, name in enumerate(sorted(os.listdir(root)))
            for file in sorted(os.listdir(os.path.join(root, name)))]

    def __len__(self):
        return len(self._samples)

    def __getitem__(self, number):
        path, label = self._samples[number]
        with PIL.Image.open(path) as picture:
            picture.draft("RGB", (224, 224))
            image = picture.convert("RGB").resize((224, 224))
        return 255 - numpy.asarray(image), label


class Hanging(Inverted):
    """The same photographs, made by code that does not return while a file exists."""

    def __init__(self, root, while_exists):
        super().__init__(root)
        self._while_exists = while_exists

    def __getitem__(self, number):
        while os.path.exists(self._while_exists):
            time.sleep(0.05)
        return super().__getitem__(number)
