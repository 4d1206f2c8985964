"""Iterables that one process iterates for all jobs of a user."""
