"""The page of all configuration keys, and the schema from which it is made."""

import pathlib
import sys

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "deploy"
sys.path.append(str(FOLDER))
make = __import__("make_forebayd_toml")

SCHEMA = '''
syntax = "proto2";
message Config {
  optional LogConfig log = 7;
}
// How it logs.
message LogConfig {
  // The level
  // that is logged.
  optional string level = 1 [default = "a, b", (takes) = {WORDS}];
  // Its size.
  optional double size = 2 [default = 0.5, (takes) = {min: 0, max: 9}];
}
'''.replace("WORDS", 'words: ["x", "y"], form: NOTHING_ELSE')


def test_the_page_is_what_the_schema_says():
    assert make.PAGE.read_text() == make.page(make.SCHEMA.read_text())


def test_a_key_has_its_comment_its_limits_and_its_default():
    assert make.page(SCHEMA) == make.HEAD + '''
[log]
# How it logs.
# The level that is logged. "x" or "y".
level = "a, b"
# Its size. From 0 to 9.
size = 0.5
'''


def test_lines_that_it_cannot_read_are_refused():
    with pytest.raises(ValueError, match="cannot read 'repeated"):
        make.messages("message Config {\n  repeated int32 a = 1;\n}\n")
