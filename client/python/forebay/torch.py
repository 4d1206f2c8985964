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
    """Puts forebay.DataLoader in the place of torch.utils.data.DataLoader.

    Code that is imported afterwards gets it, as does code that looks up the attribute
    at each use. Loaders that exist stay as they are. A module that was imported before
    may hold torch's class under a name of its own, or one that derives from it: it goes
    on with that, and a warning names it.

    Returns:
      The names under which modules hold such a class, as "module.name".

    Raises:
      ImportError: torch is not installed.
    """
    import torch.utils.data as data
    import torch.utils.data.dataloader as original
    # The methods of torch's class look up their class in the module that defines it, so
    # the name stays there.
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
    # isinstance() would load modules for which objects stand in until they are used.
    return issubclass(type(value), type) and kind in type.mro(value)
