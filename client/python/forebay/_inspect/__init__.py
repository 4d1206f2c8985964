"""Says what is in a dataset, and how to read it: forebay.inspect.

A path means what it means to the user, and the code that is printed is Python.
Therefore this package, rather than the daemon, guesses and describes. It is a client
like any other: the daemon tells what a reader of the dataset gets.
"""

from .inspection import Inspection, inspect

__all__ = ["Inspection", "inspect"]
