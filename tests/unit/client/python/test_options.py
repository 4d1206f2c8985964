"""Which format a path or URI stands for."""

import pytest

from forebay import _native, _options, errors


@pytest.mark.parametrize("name", [
    "/data/train.npy", "train.npy", b"/data/caf\xe9.npy", "/data/part-*.npy",
    "/data/{00..12}.npy", "gs://bucket/part-{000..099}.npy",
    "https://host/a.npy", "/data/{a.npy,b.npy}", "/data/{x/{a,b}.npy,c.npy}",
    "/data/{a,b}/{c.npy,{d,e}-*.npy}", "file:///data/train.npy", "/data/{a.npy"])
def test_names_of_npy_files(name):
    assert _options.dataset_options(name, None)["format"] == _native.NPY


@pytest.mark.parametrize("name", [
    "/data/{a.npy,b.tar}", "/data/a.npy.tar", "/data/{a,b}", "/data/*npy*",
    "/data/{a.npy}", "/data/{a.npy,{b.npy}", "/data/{a,b}.npy}"])
def test_names_of_others(name):
    with pytest.raises(errors.InvalidArgument, match="fields must say"):
        _options.dataset_options(name, None)
    assert _options.dataset_options(name, ("npy",))["format"] == (
        _native.WEBDATASET)


def test_names_of_neither():
    assert _options.dataset_options("/data/npy", None)["format"] == (
        _native.IMAGE_FOLDER)
    with pytest.raises(errors.InvalidArgument, match="have the one field"):
        _options.dataset_options("/data/a.npy", ("npy",))
