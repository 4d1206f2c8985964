"""LSUN's environments, one for each class, as torchvision reads them."""

import pytest
import torchvision
from torch.utils.data import ConcatDataset, DataLoader, Subset
from torchvision import transforms as V

import forebay
from drop_in import TRANSFORM, check_equal
from forebay import transforms as T
from lmdb_files import open_entries, write
from trouble import CROP

CLASSES = ["tower_val", "bedroom_val", "church_outdoor_val"]
COUNTS = (5, 0, 9)


@pytest.fixture
def folder(shared_daemon, tmp_path, photos, monkeypatch):
    """Environments of photographs, one of which is empty."""
    (tmp_path / "lsun").mkdir()
    pictures = iter(sorted(photos.glob("*/*.jpg")))
    for name, count in zip(CLASSES, COUNTS):
        entries = {b"%s-%d" % (name.encode(), i): next(pictures).read_bytes()
                   for i in range(count)}
        write(tmp_path / "lsun" / f"{name}_lmdb", entries)
    monkeypatch.chdir(tmp_path)  # torchvision writes the list of keys here
    return tmp_path / "lsun"


def lsun(folder, classes=CLASSES, transform=TRANSFORM, **options):
    return torchvision.datasets.LSUN(str(folder), classes, transform, **options)


def test_labels_are_the_environments_numbers(folder):
    pattern = "{" + ",".join(CLASSES) + "}_lmdb"
    for fields, names in (("lsun", ("image", "label")),
                          ({"key": "text", "value": "lsun"},
                           ("key", "image", "label")),
                          ({"value": "lsun", "key": "text"},
                           ("image", "label", "key"))):
        with open_entries(forebay.lmdb(folder / pattern, fields=fields), batch_size=14,
                          transform=T.CenterCrop(CROP)) as loader:
            batch, = loader
        assert batch._fields == names
        assert batch.label.tolist() == [0] * 5 + [2] * 9
        assert batch.image.shape == (14, 3, *CROP)
        if len(names) == 3:
            assert batch.key == [f"{CLASSES[label]}-{number}" for label, number in
                                 zip(batch.label, [*range(5), *range(9)])]


def test_torchvisions_dataset_gives_the_same(folder):
    whole = lsun(folder)
    both = ConcatDataset([Subset(whole, [13, 0, 4, 5, 13]), whole])
    for dataset in (whole, both):
        with forebay.DataLoader(dataset, 4) as ours:
            assert len(ours) == len(DataLoader(dataset, 4))
            assert check_equal(ours, DataLoader(dataset, 4)) == len(dataset)
    with forebay.DataLoader(whole, 14, shuffle=True) as ours:
        assert ours.dataset.classes == CLASSES
        batch, = ours
    assert batch.label.tolist() == [whole[i][1] for i in batch.sample_ids]


def test_a_single_class(folder):
    dataset = lsun(folder, CLASSES[2:])
    with forebay.DataLoader(dataset, 4) as ours:
        assert check_equal(ours, DataLoader(dataset, 4)) == COUNTS[2]


def test_a_function_of_the_label(folder):
    dataset = lsun(folder, target_transform=lambda label: label * 10)
    with forebay.DataLoader(dataset, 14) as ours:
        assert next(iter(ours)).label.tolist() == [0] * 5 + [20] * 9


@pytest.mark.parametrize("change, says", [
    (lambda dataset: dataset.dbs[0].keys.reverse(), "in the order of their keys"),
    (lambda dataset: setattr(dataset.dbs[2], "transform", V.ToTensor()),
     "have different transforms"),
    (lambda dataset: setattr(dataset.dbs[0], "root", "/elsewhere/tower_val_lmdb"),
     "do not lie side by side")])
def test_another_lsun_is_read_by_its_own_code(folder, change, says):
    dataset = lsun(folder)
    change(dataset)
    with pytest.warns(UserWarning, match=says):
        forebay.DataLoader(dataset, 4, num_workers=1).close()


@pytest.mark.parametrize("part", [lambda whole: whole,
                                  lambda whole: Subset(whole, [9, 2, 3])])
def test_an_lsun_without_some_of_its_keys(folder, part):
    whole = lsun(folder)
    del whole.dbs[0].keys[2]
    whole.dbs[0].length -= 1
    whole.indices = [4, 4, 13]
    whole.length = 13
    dataset = part(whole)
    with pytest.warns(UserWarning, match="not those of its folders"):
        loader = forebay.DataLoader(dataset, 4, num_workers=1)
    with loader:
        assert check_equal(loader, DataLoader(dataset, 4)) == len(dataset)
