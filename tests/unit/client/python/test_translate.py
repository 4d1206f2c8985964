"""Pipelines of other libraries, which are recognised by their modules and names
alone."""

import pytest

from forebay import _translate, errors
from forebay import transforms as T


def op(module, name, **attributes):
    """Returns an object of a class of another library."""
    kind = type(name, (), {"__call__": lambda self, image: image})
    kind.__module__ = module
    made = kind()
    vars(made).update(attributes)
    return made


def v1(name, **attributes):
    return op("torchvision.transforms.transforms", name, **attributes)


def v2(name, **attributes):
    return op("torchvision.transforms.v2._anything", name, **attributes)


def alb(name, p=1.0, **attributes):
    return op("albumentations.augmentations.anything", name, p=p, **attributes)


def compose(*ops):
    return v1("Compose", transforms=list(ops))


def alb_compose(*ops, **attributes):
    return op("albumentations.core.composition", "Compose",
              transforms=list(ops), p=1.0, processors={}, **attributes)


def told(translated):
    """Returns the daemon's ops of a translation, as text."""
    return [repr(each) for each in translated.transform.transforms]


RESIZE = v1("Resize", size=256, interpolation=2, max_size=None, antialias=None)
CROP = v1("CenterCrop", size=(224, 224))
TO_TENSOR = v1("ToTensor")
NORMALIZE = v1("Normalize", mean=[0.5], std=[0.25])
TO_IMAGE = v2("ToImage")


def test_the_usual_pipeline():
    split = _translate.translate(compose(RESIZE, compose(CROP, TO_TENSOR),
                                         NORMALIZE))
    assert told(split) == [
        repr(T.Resize(256)), repr(T.CenterCrop(224)), repr(T.ToImage()),
        repr(T.ToDtype("float32", scale=True)), repr(T.Normalize([0.5], [0.25]))]
    assert split.trailing == ()


def test_nothing_and_our_own_stay_as_they_are():
    assert _translate.translate(None).transform is None
    ours = T.Compose([T.CenterCrop(3)])
    assert _translate.translate(ours).transform is ours


def test_what_comes_last_without_a_counterpart_is_left():
    erase, function = v1("RandomErasing"), max
    split = _translate.translate(compose(CROP, TO_TENSOR, erase, function))
    assert len(split.transform.transforms) == 3
    assert split.trailing == (erase, function)
    assert split.input_kind == "tensor"


def test_what_is_left_before_tensors_takes_pil_images():
    split = _translate.translate(compose(CROP, v1("Lambda")))
    assert told(split)[-1] == repr(T.ToImage("NHWC"))
    assert split.input_kind == "pil"


@pytest.mark.parametrize("transform,is_opaque", [
    (max, True), (compose(v1("Lambda"), max), True), (compose(CROP, max), False),
    (compose(CROP), False), (None, False), (alb("Blur"), False)])
def test_a_pipeline_without_counterparts_is_opaque(transform, is_opaque):
    assert _translate.translate(transform).is_opaque == is_opaque


def test_gray_images_are_made_gray_first():
    split = _translate.translate(TO_TENSOR, channels=1)
    assert told(split)[0] == repr(T.Grayscale(1))
    split = _translate.translate(compose(v2("RGB"), TO_TENSOR), channels=1)
    assert told(split)[:2] == [repr(T.Grayscale(1)), repr(T.Grayscale(3))]


@pytest.mark.parametrize("ops,named", [
    ([RESIZE, v1("RandAugment"), TO_TENSOR], "^RandAugment has no counterpart .* "
     "ToTensor comes after it"),
    ([len, CROP], "^len has no counterpart .* CenterCrop comes after it"),
    ([TO_TENSOR, RESIZE, CROP], r"^Resize .*\(it would change floating-point "),
    ([TO_IMAGE, v2("ColorJitter", brightness=None, contrast=None,
                   saturation=None, hue=(-0.1, 0.1)), TO_IMAGE],
     r"^ColorJitter .*\(torchvision turns the hue of tensors otherwise"),
    ([TO_IMAGE, v2("ColorJitter", brightness=(0.6, 1.4), contrast=None,
                   saturation=(0.6, 1.4), hue=None), TO_IMAGE],
     r"^ColorJitter .*\(brightness and saturation: together"),
    ([TO_IMAGE, v2("ColorJitter", brightness=None, contrast=(0, 2),
                   saturation=None, hue=None), TO_IMAGE],
     r"^ColorJitter .*\(contrast more than 0.9 from 1"),
    ([v1("Resize", size=9, max_size=None, interpolation="lanczos"), CROP],
     r"^Resize .*\(interpolation='lanczos' of PIL images\)"),
    ([TO_IMAGE, v2("Resize", size=9, max_size=None, antialias=True,
                   interpolation="bicubic"), CROP],
     r"^Resize .*\(interpolation='bicubic' of tensors\)"),
    ([TO_IMAGE, v2("Resize", size=9, max_size=None, antialias=True,
                   interpolation="nearest"), CROP],
     r"^Resize .*\(interpolation='nearest' of tensors\)"),
    ([TO_IMAGE, v2("ToDtype", dtype="torch.float64", scale=True), NORMALIZE],
     r"^ToDtype .*\(dtype should be uint8"),
    ([v1("RandomApply", transforms=[CROP], p=0.5), CROP], "^RandomApply"),
    ([v1("Pad", padding=3, fill=300, padding_mode="constant"), CROP],
     r"^Pad .*\(fill should be between 0 and 255"),
])
def test_in_the_middle_it_is_refused_by_name(ops, named):
    with pytest.raises(errors.Unsupported, match=named):
        _translate.translate(compose(*ops))


RAND_AUGMENT = v1("RandAugment")
FLIP = v1("RandomHorizontalFlip", p=0.5)
RANDOM_CROP = v1("RandomResizedCrop", size=(8, 9), scale=(0.1, 1), ratio=(1, 1),
                 interpolation=2)


@pytest.mark.parametrize("ops, before, ran, behind, kind, extent", [
    ([RESIZE, CROP, RAND_AUGMENT, TO_TENSOR], 2, [RAND_AUGMENT], [TO_TENSOR], "pil",
     (224, 224)),
    ([RANDOM_CROP, print, FLIP, str, FLIP, TO_TENSOR, NORMALIZE], 1,
     [print, FLIP, str], [FLIP, TO_TENSOR, NORMALIZE], "pil", (8, 9)),
    ([RANDOM_CROP, TO_IMAGE, FLIP, RAND_AUGMENT, FLIP], 3, [RAND_AUGMENT], [FLIP],
     "tensor", (8, 9)),
    # The user's code gets no floats, because it begins before the conversion to floats.
    ([RANDOM_CROP, FLIP, TO_TENSOR, RAND_AUGMENT, NORMALIZE], 2,
     [TO_TENSOR, RAND_AUGMENT], [NORMALIZE], "pil", (8, 9)),
    ([RANDOM_CROP, v1("Pad", padding=(1, 2), fill=0, padding_mode="constant"), str,
      TO_TENSOR], 2, [str], [TO_TENSOR], "pil", (12, 11)),
])
def test_workers_run_what_is_in_the_middle(ops, before, ran, behind, kind, extent):
    code = _translate.translate(compose(*ops)).code
    assert len(code.before) == before
    assert (list(code.ops), list(code.behind), code.kind) == (ran, behind, kind)
    assert tuple(code.extent) == extent and code.channels == 3


def test_workers_run_ops_of_albumentations_too():
    resize = alb("Resize", height=11, width=8, interpolation=1)
    crop = alb("CenterCrop", height=8, width=8)  # has its own way of rounding
    code = _translate.translate(alb_compose(resize, crop, NORMALIZED)).code
    assert code.ops == (crop,) and code.behind == (NORMALIZED,)
    assert code.kind == "array" and code.names == "CenterCrop"


def test_classes_derived_from_torchvisions_are_not_torchvisions():
    kind = type("MyCrop", (type(CROP),), {})
    kind.__module__ = "train"
    with pytest.raises(errors.Unsupported, match="^MyCrop"):
        _translate.translate(compose(kind(), TO_TENSOR))


@pytest.mark.parametrize("antialias,expected", [
    (True, True), (False, False), (None, False), ("warn", False)])
def test_tensors_are_antialiased_if_it_is_said(antialias, expected):
    resize = v2("Resize", size=[9], interpolation="bilinear", max_size=None,
                antialias=antialias)
    split = _translate.translate(compose(TO_IMAGE, resize))
    assert split.transform.transforms[1].antialias is expected
    split = _translate.translate(compose(resize, TO_IMAGE))
    assert split.transform.transforms[0].antialias is True


def test_v2_leaves_the_type_of_pil_images_alone():
    to_float = v2("ToDtype", dtype="torch.float32", scale=True)
    split = _translate.translate(compose(CROP, to_float))
    assert told(split) == [repr(T.CenterCrop(224))]


def test_albumentations_arrays_keep_their_channels_last():
    crop = alb("RandomResizedCrop", size=(9, 8), scale=(0.1, 1),
               ratio=(0.7, 1.3), interpolation=1)
    split = _translate.translate(alb_compose(crop))
    assert told(split) == [
        repr(T.RandomResizedCrop((9, 8), (0.1, 1), (0.7, 1.3), antialias=False)),
        repr(T.ToImage("NHWC"))]
    split = _translate.translate(alb_compose(crop, alb("ToTensorV2")))
    assert told(split)[-1] == repr(T.ToImage("NCHW"))
    blur = alb("Blur")
    split = _translate.translate(alb_compose(crop, blur))
    assert (split.trailing, split.input_kind) == ((blur,), "array")


NORMALIZED = alb("Normalize", mean=0.5, std=[0.25], max_pixel_value=255.0)


@pytest.mark.parametrize("ops,named", [
    ([alb("CenterCrop", height=8, width=8), NORMALIZED],
     r"^CenterCrop .*\(its place is rounded otherwise"),
    ([alb("Resize", height=11, width=8, interpolation=3), NORMALIZED],
     r"^Resize .*\(interpolation=3, not INTER_LINEAR"),
    ([alb("Resize", p=0.5, height=11, width=8, interpolation=1), NORMALIZED],
     r"^Resize .*\(p=0.5\)"),
    ([alb("ColorJitter", hue=(-0.5, 0.5)), NORMALIZED],
     r"^ColorJitter .*\(OpenCV turns hues otherwise"),
    ([alb("ColorJitter", brightness=(1, 1), contrast=(1, 1),
          saturation=(0.4, 1), hue=(0, 0)), NORMALIZED],
     r"^ColorJitter .*\(saturation more than 0.5 from 1"),
    ([alb("SmallestMaxSize", max_size=9), NORMALIZED], "^SmallestMaxSize"),
    ([alb_compose(NORMALIZED, additional_targets={"mask": "image"}),
      NORMALIZED], "^Compose"),
])
def test_albumentations_is_refused_where_it_would_differ(ops, named):
    with pytest.raises(errors.Unsupported, match=named):
        _translate.translate(alb_compose(*ops))


def test_albumentations_values_are_of_its_own_range():
    split = _translate.translate(alb_compose(NORMALIZED))
    assert told(split)[:2] == [repr(T.ToDtype("float32", scale=True)),
                               repr(T.Normalize([0.5], [0.25]))]
    raw = alb("Normalize", mean=[0.5], std=[0.25], max_pixel_value=100.0)
    split = _translate.translate(alb_compose(raw))
    assert told(split)[:2] == [repr(T.ToDtype("float32")),
                               repr(T.Normalize([50], [25]))]
