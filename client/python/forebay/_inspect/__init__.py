"""Says what is in a dataset, and how to read it: forebay.inspect.

A path means what it means to the user, and the code that is printed is Python's. So
this package guesses and describes, as a client like any other: the daemon tells what a
reader of the dataset gets.
"""

from .inspection import Inspection, inspect

__all__ = ["Inspection", "inspect"]
