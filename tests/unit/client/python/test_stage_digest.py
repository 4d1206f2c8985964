"""Digests of the user's code: equal where it does the same, in any process."""

import os
import subprocess
import sys
import textwrap
import threading

import numpy
import pytest
import torch

from forebay._stage import digest

SOURCE = textwrap.dedent("""
    import functools, sys
    import numpy, torch, torchvision
    from forebay._stage import digest
    import mine

    FACTOR = {factor}
    NAMES = {{"b", "a", "c"}}

    def outer(scale):
        def inner(value):
            return mine.twice(value) * scale * FACTOR + len(NAMES)
        return inner

    class Base:
        kept = "in the class"
        def __len__(self): return 3

    class Data(Base):
        __slots__ = ()
        size = property(lambda self: 3)
        @staticmethod
        def name(): return {name!r}
        def __getitem__(self, number): return self.size + {constant}

    class Full(Data):
        def __init__(self):
            self.paths = [("a" * 3, n) for n in range(5)]
            self.array = numpy.arange(6).reshape(2, 3)
            self.tensor = torch.arange(3.)
            self.transform = torchvision.transforms.Compose(
                [torchvision.transforms.RandomCrop(4), outer(2)])
            self.partial = functools.partial(outer, scale=1.5)
            self.itself = self
            self.nested = {{"a": [1, [2, (3, {{4}})]], None: frozenset("xyz")}}

    print(digest.of((Full(), outer({closure}))).hex())
""")
PLAIN = {"factor": 2, "name": "n", "constant": 1, "closure": 3}


def run(folder, twice="return x * 2", seed="0", **changes):
    """The digest that another process finds."""
    (folder / "mine.py").write_text(f"def twice(x): {twice}\n")
    (folder / "script.py").write_text(SOURCE.format(**{**PLAIN, **changes}))
    done = subprocess.run(
        [sys.executable, "-B", "script.py"], cwd=folder, stdout=subprocess.PIPE,
        text=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed})
    return done.stdout


def test_is_the_same_in_every_process(tmp_path):
    assert len({run(tmp_path, seed=seed) for seed in "123"}) == 1


@pytest.mark.parametrize("change", [
    {"factor": 3}, {"name": "m"}, {"constant": 2}, {"closure": 4},
    {"twice": "return x + x"}])
def test_changes_with_whatever_the_code_does(tmp_path, change):
    assert run(tmp_path) != run(tmp_path, **change)


def test_the_working_directory_counts(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
    assert run(tmp_path / "a") != run(tmp_path / "b")


def test_the_package_s_version_counts(monkeypatch):
    before = digest.of(len), digest.of_key("key")
    monkeypatch.setattr(digest, "VERSION", "0.0.1")
    assert not {digest.of(len), digest.of_key("key")} & set(before)


class Held:
    def __init__(self, value):
        self.value = value


@pytest.mark.parametrize("one, other", [
    (1, True), (1, 1.0), ("1", b"1"), ([1, 2], (1, 2)), ([1, [2]], [[1], 2]),
    ({"a": 1, "b": 2}, {"b": 2, "a": 1}), (numpy.zeros(3), numpy.zeros((3, 1))),
    (numpy.zeros(2, "f4"), numpy.zeros(1, "f8")),
    (torch.zeros(3), torch.ones(3)), (lambda x: x, lambda x: -x),
    (lambda x=1: x, lambda x=2: x), (numpy.sin, numpy.cos), (len, repr),
    ([1, 2].append, [1].append), (0.0, -0.0)])
def test_tells_values_apart(one, other):
    assert digest.of(Held(one)) != digest.of(Held(other))
    assert digest.of(Held(one)) == digest.of(Held(one))


def test_large_lists_are_quick_and_equal():
    names = [(f"folder/{number}.jpg", number) for number in range(100_000)]
    copy = [(name[:3] + name[3:], number) for name, number in names]
    assert digest.of(names) == digest.of(copy)
    copy[77_777] = ("else", 1)
    assert digest.of(names) != digest.of(copy)


@pytest.mark.parametrize("value, says", [
    (threading.Lock(), "_thread.lock"), (open(os.devnull), "TextIOWrapper"),
    ((number for number in range(3)), "generator"),
    ({(1, 2)}, "a set with a tuple")])
def test_says_what_has_no_digest(value, says):
    with pytest.raises(digest.Unknown, match=says):
        digest.of(Held(value))


def test_a_class_stays_the_same_when_its_objects_are_pickled():
    before = digest.of(Held(1))
    Held(2).__reduce_ex__(4)
    assert digest.of(Held(1)) == before


def defined(source, name="__main__", **values):
    """Returns the `thing` that `source` defines, in a module of its own."""
    module = dict(values, __name__=name)
    exec(textwrap.dedent(source), module)
    return module["thing"]


@pytest.mark.parametrize("one, other", [
    ("def thing(a): return a", "def thing(*a): return a"),
    ("def thing(a, b=1): return b", "def thing(a, *, b=1): return b"),
    ("def thing(a): return a\nthing.scale = 1",
     "def thing(a): return a\nthing.scale = 2"),
    ("import functools\n@functools.lru_cache\ndef thing(a): return a",
     "import functools\n@functools.lru_cache\ndef thing(a): return -a"),
    ("import functools, numpy\n@functools.wraps(numpy.asarray)\n"
     "def thing(a): return a",
     "import functools, numpy\n@functools.wraps(numpy.asarray)\n"
     "def thing(a): return -a"),
    ("import types\nthing = types.new_class('A', (), {}, lambda names:"
     " names.update(f=lambda self: 1))",
     "import types\nthing = types.new_class('A', (), {}, lambda names:"
     " names.update(f=lambda self: 2))"),
    ("class M(type):\n  def __call__(cls): return 1\n"
     "class thing(metaclass=M): pass",
     "class M(type):\n  def __call__(cls): return 2\n"
     "class thing(metaclass=M): pass"),
    ("import numpy\nthing = numpy.frompyfunc(lambda a: a, 1, 1)",
     "import numpy\nthing = numpy.frompyfunc(lambda a: -a, 1, 1)"),
    ("def thing(a):\n  try: b(); c()\n  except E: pass",
     "def thing(a):\n  b()\n  try: c()\n  except E: pass"),
])
def test_tells_code_apart(one, other):
    def of(source):
        try:
            return digest.of(defined(source))
        except digest.Unknown:
            return os.urandom(16)

    assert of(one) != of(other)


def test_equal_code_has_equal_digests():
    for source in (
            "import functools\n@functools.lru_cache\ndef thing(a): return a",
            "import functools, numpy\n@functools.wraps(numpy.asarray)\n"
            "def thing(a): return -a",
            "import dataclasses\n@dataclasses.dataclass\nclass thing:\n  a: int = 1",
            "import enum\nclass thing(enum.Enum):\n  A = 1",
            "import typing\nT = typing.TypeVar('T')\n"
            "class thing(typing.Generic[T]):\n  def f(self, a: T) -> T: return a"):
        assert digest.of(defined(source)) == digest.of(defined(source))


def test_names_of_a_structured_array_count():
    one = numpy.zeros(2, [("a", "i4"), ("b", "f4")])
    assert digest.of(one) != digest.of(one.astype([("b", "i4"), ("a", "f4")]))


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Writes a module of the user's, of this source, and imports it."""
    def write(source, name="some_settings"):
        (tmp_path / f"{name}.py").write_text(source)
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.delitem(sys.modules, name, raising=False)
        return __import__(name)

    yield write
    sys.modules.pop("some_settings", None)


@pytest.mark.parametrize("source", [
    "import some_settings\ndef thing(a): return a * some_settings.SCALE",
    "def thing(a):\n  import some_settings\n  return a * some_settings.SCALE",
    "def thing(a):\n  from some_settings import SCALE\n  return a * SCALE",
    "import some_settings\ndef thing(a): return some_settings.scaled(a)",
    "import some_settings\ndef thing(a): return some_settings.Scaled()(a)",
    "import some_settings\ndef thing(a):\n"
    "  return [some_settings.SCALE for _ in range(a)]"])
def test_settings_of_a_module_count_as_they_are(module, source):
    settings = module("SCALE = 1\ndef scaled(a): return a * SCALE\n"
                      "class Scaled:\n  def __call__(self, a): return a * SCALE\n"
                      "LOCK = __import__('threading').Lock()\n")
    thing = defined(source)
    before = digest.of(thing)
    assert digest.of(defined(source)) == before
    settings.SCALE = 2
    assert digest.of(thing) != before


def test_a_module_that_is_imported_later_counts(tmp_path, module):
    source = "def thing(a):\n  from some_settings import scaled\n  return scaled(a)"
    module("def scaled(a): return a")
    del sys.modules["some_settings"]
    with pytest.raises(digest.Unknown, match="some_settings"):
        digest.of(defined(source))
    (tmp_path / "some_package").mkdir()
    for name in ("__init__", "part"):
        (tmp_path / "some_package" / f"{name}.py").write_text("")
    source = "def thing(a):\n  from some_package import part"
    __import__("some_package")
    with pytest.raises(digest.Unknown, match="some_package.part"):
        digest.of(defined(source))
    __import__("some_package.part")
    assert digest.of(defined(source))
    for name in ("some_package", "some_package.part"):
        del sys.modules[name]
    assert digest.of(defined("def thing(a):\n  import csv\n  import nowhere_at_all"))


@pytest.mark.parametrize("source", [
    "import os\ndef thing(a): return os.environ['FOREBAY_TEST_SCALE']",
    "import os\ndef thing(a): return os.environ.get('FOREBAY_TEST_SCALE', 1)",
    "import os\ndef thing(a): return os.getenv('FOREBAY_TEST_SCALE')",
    "from os import environ\ndef thing(a): return environ['FOREBAY_TEST_SCALE']",
    "from os import getenv\ndef thing(a): return getenv('FOREBAY_TEST_SCALE')",
    "import os\nNAME = 'FOREBAY_TEST_SCALE'\ndef thing(a): return os.environ[NAME]"])
def test_variables_of_the_environment_count_where_code_reads_them(
        monkeypatch, source):
    before = digest.of(defined(source))
    monkeypatch.setenv("FOREBAY_TEST_OTHER", "1")
    if "NAME" not in source:
        assert digest.of(defined(source)) == before
    monkeypatch.setenv("FOREBAY_TEST_SCALE", "2")
    assert digest.of(defined(source)) != before


def test_arguments_of_the_command_count_where_code_reads_them(monkeypatch):
    source = "import sys\ndef thing(a): return sys.argv[1]"
    before = digest.of(defined(source))
    monkeypatch.setattr(sys, "argv", ["a", "b"])
    assert digest.of(defined(source)) != before


def test_the_default_type_of_tensors_counts():
    before = digest.of(1)
    torch.set_default_dtype(torch.float64)
    try:
        assert digest.of(1) != before
    finally:
        torch.set_default_dtype(torch.float32)


def test_code_with_a_variable_that_is_not_set_yet_has_a_digest():
    def outer():
        def inner():
            return later
        found = digest.of(inner)
        later = 1
        return found, digest.of(inner)

    found = outer()
    assert found[0] != found[1]


def test_what_is_nested_too_deeply_has_none():
    value = []
    for _ in range(100_000):
        value = [value, value]
    with pytest.raises(digest.Unknown, match="deep"):
        digest.of(value)
    while value:  # piece by piece: its end nests as deeply
        value = value[0]
