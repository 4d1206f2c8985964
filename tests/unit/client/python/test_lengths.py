"""Arguments about the lengths of samples become the native options."""

import fractions

import numpy
import pytest

from forebay import _lengths, errors

NOTHING = {"bucket_by": None, "max_tokens": None, "max_seconds": None, "batch_size": 1,
           "padded": False}


def options(**arguments):
    return _lengths.options(**{**NOTHING, **arguments})


def test_nothing_is_asked_for():
    assert options() == {}
    assert not _lengths.vary(options()) and _lengths.described(options()) is None


def test_lengths_that_are_limited():
    assert options(max_tokens=numpy.int32(7), padded=True) == {
        "max_length": 7, "padded": 1, "batch_size": 65536}
    assert options(max_seconds=fractions.Fraction(5, 2), batch_size=9) == {
        "max_seconds": 2.5, "padded": 0}
    assert _lengths.vary(options(max_seconds=1))
    assert _lengths.vary(options(max_tokens=1))


@pytest.mark.parametrize("wrong", [
    0, -1, 65536.1, float("nan"), float("inf"), True, "1", [], 10 ** 400])
def test_seconds_that_are_none(wrong):
    with pytest.raises(errors.InvalidArgument, match="max_seconds must be a number"):
        options(max_seconds=wrong)


def test_one_limit_is_enough():
    with pytest.raises(errors.InvalidArgument, match="not by both"):
        options(max_seconds=1, max_tokens=1)


def test_states_tell_seconds_apart():
    def described(**arguments):
        return _lengths.described(
            {"batch_size": 1, **options(**arguments), "world_size": 2})
    assert described(max_seconds=2.5) == (
        "max_seconds=2.5, padded=False, world_size=2")
    assert described(max_seconds=2, bucket_by="length", batch_size=8).startswith(
        "bucket_by=length, max_seconds=2.0, padded=False")
    assert described(max_tokens=2) == "max_tokens=2, padded=False, world_size=2"
