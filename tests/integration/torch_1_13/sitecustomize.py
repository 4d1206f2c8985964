"""Patches Debian's torch 1.13 for Python 3.11 and recent frameworks, in processes that
have this folder on their PYTHONPATH.

Python 3.11 refuses a default value in a dataclass of torch's. FSDP then cannot be
imported, nor can Lightning's strategies and Ray Train, which need it. Accelerate calls
its device cpu:0, which only later versions of torch accept.
"""

import importlib.abc
import importlib.machinery
import sys

# The changed modules, each with a part of its source and the replacement.
_CHANGES = {
    "torch.distributed._shard.sharded_tensor.metadata": (
        b"field(default=TensorProperties())",
        b"field(default_factory=TensorProperties)"),
    "torch.cpu": (
        b"from . import amp",
        b"from . import amp\ndef device_count(): return 1\n"
        b"def set_device(_): pass"),
    "torch.serialization": (
        b"if location == 'cpu':", b"if location.startswith('cpu'):"),
}


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        # The cached code must not be loaded, because it was compiled from the unchanged
        # source.
        path = self.get_filename(fullname)
        return self.source_to_code(
            self.get_data(path).replace(*_CHANGES[fullname]), path)


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path, target=None):
        if fullname not in _CHANGES:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None:
            spec.loader = _Loader(fullname, spec.origin)
        return spec


sys.meta_path.insert(0, _Finder())
