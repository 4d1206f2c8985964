"""The class DataLoader itself, used in annotations and subclasses."""

import pickle
import typing

import pytest

from sample_sets import Numbers, values

Sample = typing.TypeVar("Sample")
Covariant = typing.TypeVar("Covariant", covariant=True)


def test_a_subscript_names_the_type_of_samples(DataLoader):
    kind = DataLoader[int]
    assert typing.get_origin(kind) is DataLoader and typing.get_args(kind) == (int,)
    assert DataLoader[Sample][int] == kind and kind != DataLoader[str]
    assert pickle.loads(pickle.dumps(kind)) == kind


def test_a_class_with_a_subscript_makes_loaders(DataLoader):
    loader = DataLoader[int](Numbers(3), 2, num_workers=1)
    assert isinstance(loader, DataLoader)
    assert values(loader) == [[0, 1], [2]]


def test_there_is_one_type_parameter(DataLoader):
    with pytest.raises(TypeError):
        DataLoader[int, str]


def test_a_subscript_is_no_class_of_instances(DataLoader):
    with pytest.raises(TypeError):
        isinstance(DataLoader(Numbers(3), num_workers=1), DataLoader[int])
    with pytest.raises(TypeError):
        issubclass(DataLoader, DataLoader[int])


def test_annotations_are_read(DataLoader):
    def train(loader: "DataLoader[Late]", third: DataLoader["Late"],  # noqa: F821
              other: typing.Optional[DataLoader[int]]):
        """Names a type that is defined later in the module."""
    assert "batch_size" in typing.get_type_hints(DataLoader.__init__)
    hints = typing.get_type_hints(train, {"DataLoader": DataLoader, "Late": str})
    assert hints == {"loader": DataLoader[str], "third": DataLoader[str],
                     "other": typing.Optional[DataLoader[int]]}


def test_a_subclass_of_a_subscript(DataLoader):
    class Own(DataLoader[int]):
        def __init__(self, size):
            super().__init__(Numbers(size), 2, num_workers=1)
            self.samples = size
    loader = Own(3)
    assert isinstance(loader, Own) and isinstance(loader, DataLoader)
    assert loader.samples == 3 and values(loader) == [[0, 1], [2]]
    with pytest.raises(TypeError):
        Own[int]


def test_a_subclass_that_keeps_the_parameter(DataLoader):
    class Stateful(DataLoader[Covariant]):
        pass

    class Named(DataLoader[Sample], typing.Generic[Sample]):
        name: Sample

    for kind in Stateful, Named:
        assert typing.get_origin(kind[int]) is kind and len(kind.__parameters__) == 1
        assert values(kind[int](Numbers(3), 2, num_workers=1)) == [[0, 1], [2]]
        with pytest.raises(TypeError):
            kind[int, str]
