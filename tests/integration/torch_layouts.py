"""Small datasets of torchvision's classes, each with its own layout on disk.

A layout is a function of a folder, paths of photographs and the dataset's arguments. It
writes the files and opens the dataset.
"""

import json
import shutil
import sys
import types

import PIL.Image
from torchvision import datasets

MATLAB = {}  # what the fake scipy reads, by file name


def use_fake_scipy(monkeypatch):
    """Stands in for scipy, by which some classes read MATLAB's files. The tests need no
    scipy."""
    scipy, scipy_io = types.ModuleType("scipy"), types.ModuleType("scipy.io")
    scipy.io = scipy_io
    scipy_io.loadmat = lambda path, **_: MATLAB[str(path).rpartition("/")[2]]
    monkeypatch.setitem(sys.modules, "scipy", scipy)
    monkeypatch.setitem(sys.modules, "scipy.io", scipy_io)


def accept_all_files(monkeypatch):
    """Turns off torchvision's check of digests, which these files do not have."""
    for kind in (datasets.CelebA, datasets.Flowers102, datasets.LFWPeople,
                 datasets.Omniglot, datasets.Places365):
        monkeypatch.setattr(kind, "_check_integrity", lambda *_: True)


def copy(photo, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(photo, path)


def convert(photo, path, mode="RGB"):
    path.parent.mkdir(parents=True, exist_ok=True)
    PIL.Image.open(photo).convert(mode).save(path)


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines))


def flowers(root, photos, **arguments):
    for number, photo in enumerate(photos, 1):
        copy(photo, root / "flowers-102" / "jpg" / f"image_{number:05d}.jpg")
    import numpy
    MATLAB["setid.mat"] = {"trnid": numpy.array([5, 1, 9, 12, 2, 3]),
                           "valid": numpy.array([4])}
    MATLAB["imagelabels.mat"] = {"labels": numpy.arange(len(photos)) * 7 % 10 + 1}
    return datasets.Flowers102(str(root), **arguments)


def food(root, photos, **arguments):
    names = ("pie/1", 'a "b", c/2', "pie/\u00e9\u4e16", "waffles/4", "pie/000",
             "waffles/=1", "pie/ 6 ")
    listed = {}
    for name, photo in zip(names, photos):
        copy(photo, root / "food-101" / "images" / f"{name}.jpg")
        listed.setdefault(name.partition("/")[0], []).append(name)
    write(root / "food-101" / "meta" / "train.json", json.dumps(listed))
    return datasets.Food101(str(root), **arguments)


def textures(root, photos, **arguments):
    lines = [f"{kind}/{kind}_{number}.jpg" for number in range(3)
             for kind in ("waffled", "banded")]
    for line, photo in zip(lines, photos):
        copy(photo, root / "dtd" / "dtd" / "images" / line)
    write(root / "dtd" / "dtd" / "labels" / "train1.txt", *lines)
    return datasets.DTD(str(root), **arguments)


def aircraft(root, photos, **arguments):
    data = root / "fgvc-aircraft-2013b" / "data"
    write(data / "variants.txt", "707-320", "A310", "Yak-42")
    names = [f"{number:07d}" for number in range(900, 906)]
    for name, photo in zip(names, photos):
        copy(photo, data / "images" / f"{name}.jpg")
    write(data / "images_variant_trainval.txt", *(
        f"{name} {kind}" for name, kind in zip(names[::-1], 2 * [
            "Yak-42", "707-320", "A310"])))
    return datasets.FGVCAircraft(str(root), **arguments)


def cars(root, photos, **arguments):
    names = [f"{number:05d}.jpg" for number in (3, 1, 2, 7)]
    for name, photo in zip(names, photos):
        copy(photo, root / "stanford_cars" / "cars_train" / name)
    write(root / "stanford_cars" / "devkit" / "cars_train_annos.mat")
    import numpy
    MATLAB["cars_train_annos.mat"] = {"annotations": [
        {"fname": name, "class": kind} for name, kind in zip(names, (2, 3, 1, 3))]}
    MATLAB["cars_meta.mat"] = {"class_names": numpy.array(["Audi", "BMW", "Fiat"])}
    return datasets.StanfordCars(str(root), **arguments)


def scenes(root, photos, **arguments):
    write(root / "SUN397" / "ClassName.txt", "/a/abbey", "/b/bridge/outdoor", "/z/zoo")
    for name, photo in zip(("a/abbey/sun_a", "b/bridge/outdoor/sun_c", "z/zoo/sun_b",
                            "a/abbey/sun_d"), photos):
        copy(photo, root / "SUN397" / f"{name}.jpg")
    return datasets.SUN397(str(root), **arguments)


def shapes(root, photos, split="train", **arguments):
    folder = root / "clevr" / "CLEVR_v1.0"
    scenes_of = []
    for number, photo in enumerate(photos[:5]):
        name = f"CLEVR_{split}_{number:06d}.png"
        convert(photo, folder / "images" / split / name)
        scenes_of.append({"image_filename": name, "objects": [{}] * (number * 3 % 4)})
    write(folder / "scenes" / f"CLEVR_{split}_scenes.json",
          json.dumps({"scenes": scenes_of}))
    return datasets.CLEVRClassification(str(root), split=split, **arguments)


def pets(root, photos, **arguments):
    folder = root / "oxford-iiit-pet"
    lines = []
    for number, photo in enumerate(photos[:6]):
        name = f"{('Abyssinian', 'saint_bernard')[number % 2]}_{number}"
        copy(photo, folder / "images" / f"{name}.jpg")
        convert(photo, folder / "annotations" / "trimaps" / f"{name}.png", "L")
        lines.append(f"{name} {number % 2 + 1} {number % 2 + 1} 1")
    write(folder / "annotations" / "trainval.txt", *lines)
    return datasets.OxfordIIITPet(str(root), **arguments)


def sentences(root, photos, **arguments):
    for number, photo in enumerate(photos[:5]):
        kind = ("positive", "negative")[number % 2]
        convert(photo, root / "rendered-sst2" / "train" / kind / f"{number}.png")
    return datasets.RenderedSST2(str(root), **arguments)


def places(root, photos, **arguments):
    names = ("/a/airfield/1.jpg", "/z/zoo/1.jpg", "/a/airfield/2.jpg")
    write(root / "categories_places365.txt", "/a/airfield 0", "/z/zoo 1")
    write(root / "places365_train_standard.txt", *(
        f"{name} {int('zoo' in name)}" for name in names))
    for name, photo in zip(names, photos):
        copy(photo, root / "data_large_standard" / name[1:])
    return datasets.Places365(str(root), **arguments)


def faces(root, photos, **arguments):
    folder = root / "celeba"
    names = [f"{number:06d}.jpg" for number in range(1, 7)]
    for name, photo in zip(names, photos):
        copy(photo, folder / "img_align_celeba" / name)

    def table(name, header, row):
        write(folder / name, *header, *(
            f"{image} {row(number)}" for number, image in enumerate(names)))

    table("list_eval_partition.txt", (), lambda n: n % 3 // 2)
    table("identity_CelebA.txt", (), lambda n: 2880 + n * n)
    table("list_bbox_celeba.txt", ("6", "x_1 y_1 width height"),
          lambda n: f"{n} 2 30 {n * 5}")
    table("list_landmarks_align_celeba.txt", ("6", "lefteye_x lefteye_y"),
          lambda n: f"{n * 3} {40 - n}")
    table("list_attr_celeba.txt", ("6", "Bald Smiling Young"),
          lambda n: f"{1 - n % 2 * 2} -1 {n % 3 - 1 or 1}")
    return datasets.CelebA(str(root), **arguments)


def caltech101(root, photos, **arguments):
    folder = root / "caltech101" / "101_ObjectCategories"
    for kind, count in (("BACKGROUND_Google", 1), ("wrench", 2), ("ant", 3)):
        for number in range(1, count + 1):
            copy(photos[number], folder / kind / f"image_{number:04d}.jpg")
    return datasets.Caltech101(str(root), **arguments)


def caltech256(root, photos, **arguments):
    folder = root / "caltech256" / "256_ObjectCategories"
    for kind, count in ((1, 2), (2, 1), (3, 3)):
        for number in range(1, count + 1):
            copy(photos[kind + number],
                 folder / f"{kind:03d}.thing" / f"{kind:03d}_{number:04d}.jpg")
    return datasets.Caltech256(str(root), **arguments)


def species(root, photos, **arguments):
    folder = root / "2021_valid"
    for number, (kind, photo) in enumerate(zip((0, 1, 0, 2, 2), photos)):
        names = (f"{kind:05d}", "Animalia", f"P{kind // 2}", "Insecta", "O", "F",
                 f"G{kind}", "bug")
        copy(photo, folder / "_".join(names) / f"{number}.jpg")
    return datasets.INaturalist(str(root), "2021_valid", **arguments)


def people(root, photos, **arguments):
    folder = root / "lfw-py"
    write(folder / "lfw-names.txt", "Aaron_Eckhart 1", "Zoe_Ball 2")
    write(folder / "peopleDevTrain.txt", "2", "Zoe_Ball\t2", "Aaron_Eckhart\t1")
    for name, photo in zip(("Zoe_Ball/Zoe_Ball_0001", "Zoe_Ball/Zoe_Ball_0002",
                            "Aaron_Eckhart/Aaron_Eckhart_0001"), photos):
        copy(photo, folder / "lfw_funneled" / f"{name}.jpg")
    return datasets.LFWPeople(str(root), split="train", **arguments)


def letters(root, photos, **arguments):
    folder = root / "omniglot-py" / "images_background"
    for name, photo, mode in zip(("Greek/character01/1", "Greek/character02/1",
                                  "Latin/character01/1", "Latin/character01/2"),
                                 photos, ("1", "1", "L", "RGB")):
        convert(photo, folder / f"{name}.png", mode)
    return datasets.Omniglot(str(root), **arguments)


def countries(root, photos, **arguments):
    for number, photo in enumerate(photos[:6]):
        split = ("train", "valid")[number % 2]
        copy(photo, root / "country211" / split / f"A{number // 2 % 2}" /
             f"{number}.jpg")
    return datasets.Country211(str(root), **arguments)


def satellite(root, photos, **arguments):
    for number, photo in enumerate(photos[:5]):
        copy(photo, root / "eurosat" / "2750" / ("River", "Forest")[number % 2] /
             f"{number}.jpg")
    return datasets.EuroSAT(str(root), **arguments)


LAYOUTS = (aircraft, caltech101, caltech256, cars, countries, faces, flowers, food,
           letters, people, pets, places, satellite, scenes, sentences, shapes, species,
           textures)
