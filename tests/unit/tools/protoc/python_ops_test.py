"""Tests of the Python classes that protoc's plugin writes from messages of ops."""

import importlib
import inspect
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[4]
PLUGIN = ROOT / "tools/protoc/protoc-gen-message"

HEAD = """
syntax = "proto3";
package forebay.proto;
import "proto/op_options.proto";
"""
OPS = HEAD + """
message Op {
  oneof kind {
    Blur soft_blur = 1;
    Quiet quiet = 2;
    ByHand by_hand = 3;
    Turn turn = 4;
  }
}
// Blurs images by a Gaussian, of which this first paragraph says so much that no
// line of 88 columns holds it.
//
// A second paragraph is short.
message Blur {
  option (op) = {domain: IMAGE title: "GaussianBlur" generated_class: true};
  enum Border { BORDER_UNSPECIFIED = 0; EDGE = 1; REFLECT = 2; }
  // The standard deviation.
  double sigma = 1 [(bounds) = {min: 0.5 max: 2}, (default_argument) = "1"];
  uint32 kernel_size = 2 [(bounds) = {min: 1 max: 31}];  // The edge, in pixels.
  // Whether the result is rounded, about which there is enough to be said that the
  // comment takes several lines.
  bool rounded = 3 [(default_argument) = "true"];
  Border border = 4 [(default_argument) = "REFLECT"];  // The pixels outside.
  Border border_with_a_long_name = 5;  // Another border.
}
// Turns images.
message Turn {
  option (op) = {domain: IMAGE generated_class: true};
  enum Side { SIDE_UNSPECIFIED = 0; LEFT = 1; }
  // The angle.
  double angle = 1 [(bounds) = {min: 0 max: 90}, (parameter) = "degrees"];
  // The number of turns.
  uint32 count = 2 [(bounds) = {min: 1 max: 9}, (parameter) = "turns"];
  Side to = 3 [(parameter) = "side"];  // The side.
  // Whether the image grows.
  bool grows = 4 [(parameter) = "expand", (default_argument) = "false"];
}
// Halves all values.
message Quiet {
  option (op) = {domain: AUDIO generated_class: true};
}
message ByHand {
  option (op) = {domain: IMAGE};
  repeated double values = 1;
}
"""


def generate(text, folder):
    """Returns protoc's exit status, the classes' code, and protoc's messages."""
    (folder / "ops.proto").write_text(text)
    done = subprocess.run(
        ["protoc", f"--plugin={PLUGIN}", f"--proto_path={folder}", "--proto_path=.",
         f"--message_out=python_ops:{folder}", "ops.proto"],
        cwd=ROOT, stderr=subprocess.PIPE, encoding="utf-8", check=False)
    code = folder / "_op_classes.py"
    return done.returncode, code.read_text() if code.exists() else "", done.stderr


@pytest.fixture(name="code", scope="module")
def generated_code(tmp_path_factory):
    status, code, messages = generate(OPS, tmp_path_factory.mktemp("ops"))
    assert status == 0, messages
    return code


@pytest.fixture(name="classes", scope="module")
def generated_classes(code, tmp_path_factory):
    """A package with the module of the classes, and what the module needs."""
    package = tmp_path_factory.mktemp("packages") / "generated_ops"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "_op_classes.py").write_text(code)
    client = ROOT / "client/python/forebay"
    (package / "_transform_values.py").symlink_to(client / "_transform_values.py")
    (package / "_transform.py").write_text(
        "class Transform: pass\nclass AudioTransform(Transform): pass\n")
    sys.path.insert(0, str(package.parent))
    try:
        yield importlib.import_module("generated_ops._op_classes")
    finally:
        sys.path.remove(str(package.parent))


def test_only_messages_with_the_option_have_a_class(classes):
    assert classes.__all__ == ["GaussianBlur", "Quiet", "Turn"]
    assert not hasattr(classes, "ByHand")


def test_required_parameters_come_first(classes):
    assert str(inspect.signature(classes.GaussianBlur)) == (
        "(kernel_size: int, border_with_a_long_name: str, "
        "sigma: float = 1.0, rounded: bool = True, border: str = 'reflect') -> None")


def test_the_docstring_consists_of_the_comments(classes):
    assert inspect.getdoc(classes.GaussianBlur) == """\
Blurs images by a Gaussian, of which this first paragraph says so much that no
line of 88 columns holds it.

A second paragraph is short.

Args:
  kernel_size: The edge, in pixels.
  border_with_a_long_name: Another border.
  sigma: The standard deviation.
  rounded: Whether the result is rounded, about which there is enough to be said
    that the comment takes several lines.
  border: The pixels outside."""
    assert classes.Quiet.__doc__ == "Halves all values."


def test_an_op_has_the_values_of_the_fields(classes):
    blur = classes.GaussianBlur(3, "edge", 2, 0)
    assert vars(blur) == {
        "kernel_size": 3, "border_with_a_long_name": "edge", "sigma": 2.0,
        "rounded": False, "border": "reflect"}
    assert blur._op() == {"soft_blur": {
        "kernel_size": 3, "border_with_a_long_name": "EDGE", "sigma": 2.0,
        "rounded": False, "border": "REFLECT"}}
    assert classes.Quiet()._op() == {"quiet": {}}
    assert [kind.__bases__[0].__name__ for kind in (
        classes.GaussianBlur, classes.Quiet)] == ["Transform", "AudioTransform"]


def test_the_option_parameter_names_the_parameter_and_the_attribute(classes):
    assert str(inspect.signature(classes.Turn)) == (
        "(degrees: float, turns: int, side: str, expand: bool = False) -> None")
    turn = classes.Turn(45, 2, "left")
    assert vars(turn) == {
        "degrees": 45.0, "turns": 2, "side": "left", "expand": False}
    assert "  degrees: The angle." in inspect.getdoc(classes.Turn)


def test_the_message_keeps_the_names_of_fields(classes):
    assert classes.Turn(45, 2, "left")._op() == {"turn": {
        "angle": 45.0, "count": 2, "to": "LEFT", "grows": False}}


@pytest.mark.parametrize("arguments, message", [
    ((91, 2, "left"), "`degrees` should be a floating point value in the interval "
     "[0.0, 90.0], not 91"),
    ((45, 0, "left"), "turns should be between 1 and 9, not 0"),
    ((45, 2, "up"), "side should be one of 'left', not 'up'"),
])
def test_refusals_name_the_parameter(classes, arguments, message):
    with pytest.raises(ValueError) as refused:
        classes.Turn(*arguments)
    assert str(refused.value) == message


@pytest.mark.parametrize("arguments, error, message", [
    ((0, "edge"), ValueError, "kernel_size should be between 1 and 31, not 0"),
    ((True, "edge"), TypeError, "kernel_size should be an integer, not True"),
    ((3, "edge", 0.25), ValueError, "`sigma` should be a floating point value in the "
     "interval [0.5, 2.0], not 0.25"),
    ((3, "EDGE"), ValueError, "border_with_a_long_name should be one of "
     "'edge', 'reflect', not 'EDGE'"),
])
def test_arguments_are_checked(classes, arguments, error, message):
    with pytest.raises(error) as refused:
        classes.GaussianBlur(*arguments)
    assert str(refused.value) == message


def test_lines_are_short_and_flake8_finds_nothing(code, tmp_path):
    assert max(map(len, code.splitlines())) <= 88
    (tmp_path / "_op_classes.py").write_text(code)
    subprocess.run(["/usr/bin/python3", "-m", "flake8", f"--config={ROOT}/.flake8",
                    tmp_path / "_op_classes.py"], check=True)


def op_of(field, comment="// A comment.", options="domain: IMAGE"):
    return HEAD + f"""
message Op {{ oneof kind {{ Blur blur = 1; }} }}
message Range {{}}
{comment}
message Blur {{
  option (op) = {{{options} generated_class: true}};
  enum Border {{ BORDER_UNSPECIFIED = 0; EDGE = 1; REFLECT = 2; }}
  {field}
}}
"""


BOUNDED = "(bounds) = {min: 0 max: 1}"
BY_HAND = ("Blur.x: fields of this kind need a class that is written by hand: a "
           "generated class takes double and uint32 without or_unset, bool and enums")
OR_UNSET = "(bounds) = {min: 1 max: 2 or_unset: true}"
QUOTES = ("the comment has a backslash, three quotation marks or one at its end, which "
          "a docstring cannot have")


@pytest.mark.parametrize("text, message", [
    (op_of("Range x = 1;  // It."), BY_HAND),
    (op_of(f"repeated double x = 1 [{BOUNDED}];  // It."), BY_HAND),
    (op_of(f"optional double x = 1 [{BOUNDED}];  // It."), BY_HAND),
    (op_of("string x = 1;  // It."), BY_HAND),
    (op_of(f"double x = 1 [{OR_UNSET}];  // It."), BY_HAND),
    (op_of(f"uint32 x = 1 [{OR_UNSET}];  // It."), BY_HAND),
    (op_of("", comment=r"// The path C:\new."), f"Blur: {QUOTES}"),
    (op_of("", comment='// A """ mark.'), f"Blur: {QUOTES}"),
    (op_of("", comment='// A "mark"'), f"Blur: {QUOTES}"),
    (op_of(r"bool x = 1;  // The path C:\new."), f"Blur.x: {QUOTES}"),
    (op_of('bool x = 1;  // A """ mark.'), f"Blur.x: {QUOTES}"),
    (op_of('bool x = 1;  // A "mark"'), f"Blur.x: {QUOTES}"),
    (op_of('bool x = 1 [(parameter) = "class"];  // It.'),
     "Blur.x: a parameter of Python cannot be named class"),
    (op_of('bool x = 1 [(parameter) = "p"];  // It.\n'
           'bool y = 2 [(parameter) = "p"];  // It.'),
     "Blur: several fields have the parameter p, so the class is to be written by "
     "hand"),
    (op_of("bool x = 1;"),
     "Blur.x: the field has no comment, which describes the parameter"),
    (op_of("", comment=""),
     "Blur: the message has no comment, which is the docstring of the class"),
    (op_of("", options="domain: IMAGE domain: ARRAY"),
     "Blur: a generated class is of images or audio"),
    (op_of("", options=""), "Blur: its option (op) names no domain"),
    (op_of("double x = 1;  // It."),
     "Blur.x: a number of a generated class needs bounds, min and max"),
    (op_of("uint32 x = 1 [(bounds) = {min: 0}];  // It."),
     "Blur.x: a number of a generated class needs bounds, min and max"),
    (op_of(f'double x = 1 [{BOUNDED}, (default_argument) = "2"];  // It.'),
     "Blur.x: the default argument is 2, not 0.0 to 1.0"),
    (op_of(f'uint32 x = 1 [{BOUNDED}, (default_argument) = "0.5"];  // It.'),
     "Blur.x: invalid literal for int() with base 10: '0.5'"),
    (op_of('bool x = 1 [(default_argument) = "1"];  // It.'),
     "Blur.x: the default argument is 1, not false or true"),
    (op_of('Border x = 1 [(default_argument) = "edge"];  // It.'),
     "Blur.x: the default argument is edge, not EDGE or REFLECT"),
])
def test_what_has_no_class_is_an_error(tmp_path, text, message):
    status, code, messages = generate(text, tmp_path)
    assert (status, code) == (1, "")
    assert messages.strip() == f"--message_out: {message}"
