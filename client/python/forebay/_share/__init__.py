"""Iterables over which a single process iterates for all jobs of a user."""
