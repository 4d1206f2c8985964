"""Says what is in a dataset, and how to read it: forebay.inspect.

Paths are the user's, and the code that is printed is Python. Therefore this package,
and not the daemon, guesses formats and describes datasets. The package is a client like
any other: the daemon tells what a reader of the dataset gets.
"""

from .inspection import Inspection, inspect

__all__ = ["Inspection", "inspect"]
