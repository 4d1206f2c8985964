"""Python classes of the ops whose messages have the option generated_class.

A class is written from its message alone: the constructor's parameters are the fields,
the checks are the fields' bounds, and the docstring consists of the comments. A field's
option `parameter` names its parameter; the message keeps the field's name.
"""

import keyword
import math
import re
import textwrap
from dataclasses import dataclass

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

from op_options import PACKAGE, OpOptions, kinds_of, messages_of

_WIDTH = 88

_HEAD = '''\
"""Classes of ops, as tools/protoc writes them from the messages of proto/."""

from typing import Any, Dict

from . import _transform_values as _values
from ._transform import AudioTransform, Transform
'''
_BASES = {"IMAGE": "Transform", "AUDIO": "AudioTransform"}
_BOOLS = {"false": "False", "true": "True"}


@dataclass
class _Parameter:
    """A field as a parameter of a constructor. All members are Python code, but for
    `field` and `comment`."""

    name: str
    field: str  # the name of the field
    comment: str
    type: str
    check: str  # returns the attribute's value
    value: str  # of the message's field, of the attribute
    default: str  # empty for a required parameter

    @property
    def declaration(self):
        default = f" = {self.default}" if self.default else ""
        return f"{self.name}: {self.type}{default}"


def _text(location):
    """Returns the comments of a location, without the line breaks of paragraphs."""
    comments = (location.leading_comments, location.trailing_comments)
    paragraphs = re.split(r"\n\s*\n", "\n".join(filter(None, comments)))
    return "\n\n".join(" ".join(text.split()) for text in paragraphs).strip()


def _comments(files):
    """Returns the comments of messages and of their fields, such as "Resize.height"."""
    comments = {}
    for file in (file for file in files if file.package == PACKAGE):
        by_path = {tuple(part.path): part for part in file.source_code_info.location}
        for i, message in enumerate(file.message_type):
            # The comments of path 4, i are those of message i of the file.
            comments[message.name] = _text(by_path[4, i])
            for j, field in enumerate(message.field):
                name = f"{message.name}.{field.name}"
                comments[name] = _text(by_path[4, i, 2, j])
    return comments


def _number(field, name, options, python):
    """Returns the type, check, value and default argument of a number."""
    bounds = options.bounds(field)
    if bounds is None or math.isinf(bounds.min) or math.isinf(bounds.max):
        raise ValueError("a number of a generated class needs bounds, min and max")
    low, high = python(bounds.min), python(bounds.max)
    text, default = options.default_argument(field), ""
    if text is not None:
        number = python(text)
        if not low <= number <= high:
            raise ValueError(f"the default argument is {text}, not {low} to {high}")
        default = repr(number)
    check = "real" if python is float else "integer"
    return (python.__name__, f'_values.{check}({name}, "{name}", {low!r}, {high!r})',
            f"self.{name}", default)


def _named(text, names):
    """Returns the code of a default argument that is one of some names."""
    if text is not None and text not in names:
        raise ValueError(f"the default argument is {text}, not {' or '.join(names)}")
    return names.get(text, "")


def _is_plain(field, options):
    """Whether each value of a field is set, and is a single one."""
    bounds = options.bounds(field)
    return (field.label != Field.LABEL_REPEATED
            and not field.HasField("oneof_index")
            and not (bounds is not None and bounds.or_unset))


def _parts(field, name, options):
    """Returns the type, check, value and default argument of a field, whose parameter
    is `name`."""
    if _is_plain(field, options):
        if field.type == Field.TYPE_DOUBLE:
            return _number(field, name, options, float)
        if field.type == Field.TYPE_UINT32:
            return _number(field, name, options, int)
        text = options.default_argument(field)
        if field.type == Field.TYPE_BOOL:
            return "bool", f"bool({name})", f"self.{name}", _named(text, _BOOLS)
        if field.type == Field.TYPE_ENUM:
            names = {name: f'"{name.lower()}"' for name in options.enum_names(field)}
            choices = ", ".join(names.values())
            return ("str", f'_values.choice({name}, [{choices}], "{name}")',
                    f"self.{name}.upper()", _named(text, names))
    raise ValueError("fields of this kind need a class that is written by hand: a "
                     "generated class takes double and uint32 without or_unset, bool "
                     "and enums")


def _check_quotable(comment):
    """Raises ValueError if a docstring cannot have the comment's text as it is."""
    if "\\" in comment or '"""' in comment or comment.endswith('"'):
        raise ValueError('the comment has a backslash, three quotation marks or one at '
                         'its end, which a docstring cannot have')


def _parameter(field, comment, options):
    if not comment:
        raise ValueError("the field has no comment, which describes the parameter")
    _check_quotable(comment)
    name = options.parameter(field)
    if not name.isidentifier() or keyword.iskeyword(name) or name == "self":
        raise ValueError(f"a parameter of Python cannot be named {name}")
    return _Parameter(name, field.name, comment, *_parts(field, name, options))


def _parameters(message, comments, options):
    """Returns the parameters in the order of the fields, required ones first."""
    parameters = []
    for field in message.field:
        name = f"{message.name}.{field.name}"
        try:
            parameters.append(_parameter(field, comments[name], options))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    names = [parameter.name for parameter in parameters]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{message.name}: several fields have the parameter "
                             f"{name}, so the class is to be written by hand")
    return sorted(parameters, key=lambda parameter: parameter.default != "")


def _fill(text, indent, more=""):
    return textwrap.fill(text, _WIDTH, initial_indent=indent,
                         subsequent_indent=indent + more, break_long_words=False,
                         break_on_hyphens=False)


def _docstring(comment, parameters):
    paragraphs = ('"""' + comment).split("\n\n")
    if len(paragraphs) == 1 and not parameters:
        return [_fill(paragraphs[0] + '"""', "    "), ""]
    lines = []
    for paragraph in paragraphs:
        lines += [_fill(paragraph, "    "), ""]
    if parameters:
        lines.append("    Args:")
        for parameter in parameters:
            text = " ".join(f"{parameter.name}: {parameter.comment}".split())
            lines.append(_fill(text, "      ", "  "))
    else:
        lines.pop()
    return [*lines, '    """', ""]


def _listed(begin, items, end):
    """Returns the code of a list: one line, or a line for each item."""
    line = begin + ", ".join(items) + end
    if len(line) <= _WIDTH:
        return [line]
    indent = " " * (len(begin) - len(begin.lstrip()) + 8)
    return [begin, ",\n".join(indent + item for item in items) + end]


def _assignment(parameter):
    line = f"        self.{parameter.name} = {parameter.check}"
    if len(line) <= _WIDTH:
        return [line]
    begin, _, arguments = line.partition("(")
    return [begin + "(", _fill(arguments, " " * 12)]


def _class(field, message, comment, parameters, options):
    """Returns the lines of the class of a field of Op."""
    bases = [_BASES.get(domain) for domain in options.domains(message)]
    if len(bases) != 1 or not bases[0]:
        raise ValueError(f"{message.name}: a generated class is of images or audio")
    if not comment:
        raise ValueError(f"{message.name}: the message has no comment, which is the "
                         "docstring of the class")
    try:
        _check_quotable(comment)
    except ValueError as error:
        raise ValueError(f"{message.name}: {error}") from None
    name = options.traits(message).title or message.name
    lines = ["", "", f"class {name}({bases[0]}):", *_docstring(comment, parameters)]
    if parameters:
        declarations = [parameter.declaration for parameter in parameters]
        lines += _listed(
            "    def __init__(", ["self", *declarations], ") -> None:")
        for parameter in parameters:
            lines += _assignment(parameter)
        lines.append("")
    values = [f'"{parameter.field}": {parameter.value}' for parameter in parameters]
    return name, [*lines, "    def _op(self) -> Dict[str, Any]:",
                  *_listed(f'        return {{"{field.name}": {{', values, "}}")]


def module(files):
    """Returns a module of the classes, in the order of the fields of Op.

    Args:
      files: descriptors of all files.

    Raises:
      ValueError: a class cannot be written from its message.
    """
    options, comments = OpOptions(files), _comments(files)
    names, classes = [], []
    for field, message in kinds_of(messages_of(files)):
        traits = options.traits(message)
        if traits is None or not traits.generated_class:
            continue
        name, lines = _class(field, message, comments[message.name],
                             _parameters(message, comments, options), options)
        names.append(name)
        classes += lines
    quoted = _fill(", ".join(f'"{name}"' for name in names) + ",", "    ")
    return "\n".join([_HEAD, "__all__ = [", quoted, "]", *classes, ""])
