"""Implements forebay.inspect, which says what is in a dataset and how to read it.

This package, and not the daemon, guesses formats and describes datasets, because it
sees paths as the user does and prints Python code. It is a client like any other: it
learns from the daemon what a reader of the dataset gets.
"""

from .inspection import Inspection, inspect

__all__ = ["Inspection", "inspect"]
