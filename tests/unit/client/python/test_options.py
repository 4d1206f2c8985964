"""The format that a path or URI stands for."""

import pytest

from forebay import _audio_folder, _native, _options, _tokens, errors


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


@pytest.mark.parametrize("name", [
    "/data/a.tar", "/data/a.tar.gz", "/data/a.tgz", "/data/a.tar.zst",
    "gs://bucket/a.tzst"])
def test_names_of_shards(name):
    assert _options.dataset_options(name, ("npy.gz",))["format"] == (
        _native.WEBDATASET)


def test_fields_that_say_types():
    def fields(name, given):
        options = _options.dataset_options(name, given)
        return options["fields"], options["columns"]

    assert fields("/data/a.tar", {"left.tif": "array", "cls": None}) == (
        [b"left.tif=array", b"cls"], [])
    assert fields("/data/a.mds", {"sound": "wav", "label": "int64"}) == (
        [b"sound", b"label"], [b"wav", b"int64"])
    assert fields("/data/a.mds", ("sound",)) == ([b"sound"], [b""])
    with pytest.raises(errors.InvalidArgument, match='"array" or None, not \'uint16\''):
        fields("/data/a.tar", {"tif": "uint16"})
    with pytest.raises(errors.InvalidArgument, match="must name at least one"):
        fields("/data/a.tar", {})


def test_names_of_neither():
    assert _options.dataset_options("/data/npy", None)["format"] == (
        _native.IMAGE_FOLDER)
    with pytest.raises(errors.InvalidArgument, match="have the one field"):
        _options.dataset_options("/data/a.npy", ("npy",))


@pytest.mark.parametrize("name, folder", [
    ("/data/a.zip", None), ("/data/a.ZIP/", None), ("/data/{0..3}.zip", None),
    ("/data/*.zip/train", "train"), ("/data/a.zip/x/y/", "x/y"),
    ("/data/a.zip/b.zip", "b.zip"), ("/data/{a.zip,b/c.zip}/train", "train"),
    ("gs://bucket/a.zip/train", "train"), ("https://host/a.zip//train/", "train"),
    (b"/data/caf\xe9.zip/x", "x"), ("file:///data/a.zip/x", "x")])
def test_names_of_archives(name, folder):
    options = _options.dataset_options(name, None)
    assert options["format"] == _native.ZIP
    assert options.get("folder") == (folder and folder.encode())
    end = f"/{folder}" if folder else ""
    assert options["uri"].lower().endswith((f".zip{end}".encode(),
                                            f"}}{end}".encode()))
    with pytest.raises(errors.InvalidArgument, match='"image" and "label"'):
        _options.dataset_options(name, ("jpg",))


@pytest.mark.parametrize("name, says", [
    ("gs://", "one bucket"), ("s3:///a.tar", "one bucket"), ("gs://b*/a.tar", "bucket"),
    ("hdfs://", "one server"), ("https://{a,b}/a.tar", "one server")])
def test_names_without_a_bucket_or_server(name, says):
    with pytest.raises(errors.InvalidArgument, match=says):
        _options.dataset_options(name, ("jpg",))


def test_files_of_no_format(tmp_path):
    (tmp_path / "photo.jpg").write_bytes(b"")
    with pytest.raises(errors.InvalidArgument, match="forebay.inspect.path."):
        _options.dataset_options(tmp_path / "photo.jpg", None)


def test_names_of_no_archives(tmp_path):
    (tmp_path / "a.zip").mkdir()
    for name in (tmp_path / "a.zip", tmp_path / "a.zip/train", "/data/zip",
                 "/data/a.zip.d/train", "/data/azip"):
        assert _options.dataset_options(name, None)["format"] == (
            _native.IMAGE_FOLDER)
    inner = _options.dataset_options(tmp_path / "a.zip/b.zip/train", None)
    assert inner["folder"] == b"train"
    assert inner["uri"] == bytes(tmp_path / "a.zip/b.zip/train")


def test_folders_of_arrays(tmp_path):
    def options():
        return _options.dataset_options(tmp_path, None)

    assert options()["format"] == _native.IMAGE_FOLDER
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.NPY").touch()
    assert options() == {
        "format": _native.NPY, "uri": bytes(tmp_path), "root": bytes(tmp_path),
        "fields": [], "columns": []}
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.jpg").touch()
    assert options()["format"] == _native.IMAGE_FOLDER
    (tmp_path / "b" / "1.jpg").unlink()
    (tmp_path / "1.npz").touch()
    assert options() == {
        "format": _native.NPZ, "uri": bytes(tmp_path / "*.npz"), "fields": [b""],
        "columns": [b"files"]}
    named = _options.dataset_options(tmp_path, ("x", "y"))
    assert named["fields"] == [b"x", b"y"]
    assert named["columns"] == [b"files", b"files"]


def test_folders_of_audio(tmp_path):
    def options(dataset=tmp_path):
        return _options.dataset_options(dataset, None)

    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "1.WAV").touch()
    wanted = {"format": _native.IMAGE_FOLDER, "uri": bytes(tmp_path), "columns": [],
              "fields": [b"audio", b"label"]}
    assert options() == wanted
    (tmp_path / "b" / "1.jpg").touch()
    assert options()["fields"] == []
    assert options(_audio_folder.audio_folder(tmp_path)) == wanted
    (tmp_path / "b" / "1.jpg").unlink()
    (tmp_path / "1.mp3").touch()
    assert options() == {**wanted, "fields": [b"audio"]}
    remote = options(_audio_folder.audio_folder("gs://bucket/clips", labels=False))
    assert remote["uri"] == b"gs://bucket/clips" and remote["fields"] == [b"audio"]
    packed = options(_audio_folder.audio_folder("gs://b/all.zip/train"))
    assert packed["format"] == _native.ZIP and packed["folder"] == b"train"
    assert packed["fields"] == [b"audio", b"label"]


@pytest.mark.parametrize("name", ["/data/a.npz", "/data/*.npz", "gs://b/{a,b}.npz"])
def test_names_of_npz_files(name):
    options = _options.dataset_options(name, ("x",))
    assert options["format"] == _native.NPZ
    assert options["fields"] == [b"x"] and options["columns"] == [b"rows"]


def test_tokens():
    for given, data in (("/data/a", "/data/a.bin"), ("/data/a.idx", "/data/a.bin"),
                        ("/data/a.bin", "/data/a.bin"), ("/data/*", "/data/*.bin"),
                        ("/data/{a,b}", "/data/{a,b}"), ("gs://b/a", "gs://b/a.bin"),
                        ("/data/a.npy", "/data/a.npy")):
        options = _options.dataset_options(_tokens.tokens(given, length=None), None)
        assert options["format"] == _native.TOKENS
        assert options["uri"] == data.encode()
        assert dict(zip(options["fields"], options["columns"])) == {
            b"length": b"document", b"documents": b"cross", b"tail": b"drop",
            b"targets": b"0"}
    raw = _options.dataset_options(
        _tokens.tokens("/data/raw", length=8, stride=2, dtype=np_like("uint16"),
                       targets=True), None)
    assert raw["uri"] == b"/data/raw"
    assert dict(zip(raw["fields"], raw["columns"]))[b"dtype"] == b"uint16"


class np_like:
    """A dtype that looks like NumPy's."""

    def __init__(self, name):
        self.name = name


def test_images_deep_in_class_folders(tmp_path):
    def options():
        return _options.dataset_options(tmp_path, None)

    (tmp_path / "statistics.npz").touch()
    for number in range(12):
        (tmp_path / f"{number:02}").mkdir()
    assert options()["format"] == _native.NPZ
    (tmp_path / "11" / "a" / "b").mkdir(parents=True)
    assert options()["format"] == _native.NPZ
    (tmp_path / "11" / "a" / "b" / "1.JPEG").touch()
    assert options()["format"] == _native.IMAGE_FOLDER
