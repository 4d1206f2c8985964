"""Writes tokens with Megatron-LM's IndexedDatasetBuilder, and what IndexedDataset reads
in them.

Needs torch and the wheel megatron-core; run it in this folder: python3 make_golden.py
FOLDER, where the wheel was unpacked.

golden.txt has a line for each file: its name, the type of its tokens, how many they
are, and how many each document has.
"""

import importlib.util
import pathlib
import sys
import types

import numpy
import torch

HERE = pathlib.Path(__file__).parent
CHANCE = numpy.random.RandomState(5)

# The tokens of each sequence, by document.
DOCUMENTS = {
    "plain": ("uint16", [[300], [1], [2000], [17]]),
    "sequences": ("int32", [[5, 0, 7], [], [1], [0], [64, 64]]),
    "bytes": ("uint8", [[9, 9], [3]]),
    "long": ("int64", [[12], [13]]),
    "empty": ("uint16", []),
}
MULTIMODAL = {"bytes"}


def indexed_dataset(folder):
    """The module that reads and writes, without all else of the package."""
    for name, values in {
            "megatron": (), "megatron.core": (), "megatron.core.datasets": (),
            "megatron.core.msc_utils": ("MultiStorageClientFeature",),
            "megatron.core.utils": ("log_single_rank",)}.items():
        module = sys.modules[name] = types.ModuleType(name)
        module.__path__ = [str(folder / name.replace(".", "/"))]
        for value in values:
            setattr(module, value, types.SimpleNamespace(is_enabled=lambda: False)
                    if value[0].isupper() else lambda *unused: None)
    name = "megatron.core.datasets.object_storage_utils"
    module = sys.modules[name] = types.ModuleType(name)
    module.S3Config = module.ObjectStorageConfig = object
    for function in ("cache_index_file", "dataset_exists", "get_index_cache_path",
                     "get_object_storage_access", "parse_s3_path"):
        setattr(module, function, None)
    module.is_object_storage_path = lambda path: False
    spec = importlib.util.spec_from_file_location(
        "indexed_dataset", folder / "megatron/core/datasets/indexed_dataset.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(module, name, dtype, documents):
    path = str(HERE / name)
    builder = module.IndexedDatasetBuilder(
        path + ".bin", numpy.dtype(dtype).type, multimodal=name in MULTIMODAL)
    highest = min(numpy.iinfo(dtype).max, 100000)
    for lengths in documents:
        for length in lengths:
            tokens = CHANCE.randint(0, highest, length).astype("int64")
            modes = (1,) if name in MULTIMODAL else ()
            builder.add_item(torch.from_numpy(tokens), *modes)
        builder.end_document()
    builder.finalize(path + ".idx")


def described(module, name):
    """The line of golden.txt."""
    found = module.IndexedDataset(str(HERE / name),
                                  multimodal=name in MULTIMODAL, mmap=False)
    lengths = found.index.sequence_lengths
    ends = found.index.document_indices
    counts = [int(lengths[begin:end].sum()) for begin, end in zip(ends, ends[1:])]
    return " ".join([name, numpy.dtype(found.index.dtype).name,
                     str(int(lengths.sum())), *map(str, counts)])


def main(folder):
    module = indexed_dataset(pathlib.Path(folder))
    lines = []
    for name, (dtype, documents) in DOCUMENTS.items():
        write(module, name, dtype, documents)
        try:
            lines.append(described(module, name))
        except ValueError:  # it cannot map a file without tokens
            lines.append(f"{name} {dtype} 0")
    (HERE / "golden.txt").write_text("\n".join(lines) + "\n")


main(sys.argv[1])
