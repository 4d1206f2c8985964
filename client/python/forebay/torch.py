"""Forebay's loaders in libraries that make torch's DataLoaders by themselves.

    import forebay
    forebay.torch.install()
    import library  # its torch.utils.data.DataLoader is forebay.DataLoader now
"""

from __future__ import annotations

import sys
import warnings
from typing import Any, List

from .loader import DataLoader


def install() -> List[str]:
    """Replaces torch.utils.data.DataLoader by forebay.DataLoader.

    Code that is imported afterwards gets forebay.DataLoader, and so does code that
    looks up the attribute at each use. Existing loaders stay as they are. A module that
    was imported before may hold torch's class, or a class that derives from it, under
    its own name. Such a module still uses that class, and a warning names the module.

    Returns:
      The names under which modules hold such a class, as "module.name".

    Raises:
      ImportError: torch is not installed.
    """
    import torch.utils.data as data
    import torch.utils.data.dataloader as original
    # The methods of torch's class look up the class's name in the module that defines
    # it. Therefore that module keeps torch's class.
    theirs = original.DataLoader
    held = sorted(f"{name}.{key}" for name, module in list(sys.modules.items())
                  if name.partition(".")[0] != "torch"
                  for key, value in list(getattr(module, "__dict__", {}).items())
                  if _is(value, theirs))
    setattr(data, "DataLoader", DataLoader)
    if held:
        warnings.warn(
            f"imported before forebay.torch.install(): {', '.join(held)}: code there "
            "goes on with torch's DataLoader: install it first", stacklevel=2)
    return held


def _is(value: Any, kind: type) -> bool:
    """Whether a value is the class `kind`, or derives from it."""
    # isinstance() would load lazy modules: objects that load their module at the first
    # use.
    return issubclass(type(value), type) and kind in type.mro(value)
