"""Writes C++ for the messages of a .proto file, for programs without protobuf.

A message becomes a struct with a member for each field. Serialize and Parse write and
read the struct as protobuf does: fields are in the order of their numbers, and a field
with its default is left out. Parse skips fields that the .proto file does not name, and
merges a message that comes twice (Protocol Buffers' "Encoding", Last One Wins). If a
message may contain itself, the member for it is a vector of at most one element.
"""

from dataclasses import dataclass

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

NAMESPACE = "forebay::message"

# For each number type of protobuf: the C++ type, and the name in protozero's functions.
_NUMBERS = {
    Field.TYPE_INT32: ("std::int32_t", "int32"),
    Field.TYPE_INT64: ("std::int64_t", "int64"),
    Field.TYPE_UINT32: ("std::uint32_t", "uint32"),
    Field.TYPE_UINT64: ("std::uint64_t", "uint64"),
    Field.TYPE_SINT32: ("std::int32_t", "sint32"),
    Field.TYPE_SINT64: ("std::int64_t", "sint64"),
    Field.TYPE_ENUM: ("std::int32_t", "enum"),
    Field.TYPE_BOOL: ("bool", "bool"),
    Field.TYPE_DOUBLE: ("double", "double"),
}
_TEXTS = (Field.TYPE_STRING, Field.TYPE_BYTES)
# Names of fields that cannot be names in C++; the member gets a trailing underscore.
_RESERVED = {"std", "class", "default", "operator", "namespace", "template"}


@dataclass
class Member:
    """A member of a struct: for one field, or for all fields of a oneof."""

    name: str
    type: str
    fields: list


def cpp_name(type_name):
    """Returns the C++ name of a message or enum, such as `ToImage::Layout`."""
    return type_name.removeprefix(".forebay.proto.").replace(".", "::")


def _enumerator(name):
    return "k" + "".join(word.capitalize() for word in name.split("_"))


def _value_type(field):
    if field.type in _NUMBERS:
        return _NUMBERS[field.type][0]
    if field.type in _TEXTS:
        return "std::string"
    if field.type == Field.TYPE_MESSAGE:
        return cpp_name(field.type_name)
    raise ValueError(f"{field.name}: fields of this type have no C++ here")


def _is_repeated(field):
    return field.label == Field.LABEL_REPEATED


def _is_in_oneof(field):
    return field.HasField("oneof_index") and not field.proto3_optional


def _held(message):
    """Returns the names of the messages that are the types of a message's fields."""
    fields = [field for field in message.field if field.type == Field.TYPE_MESSAGE]
    return {cpp_name(field.type_name) for field in fields}


def _loops(messages):
    """Returns a dict: for each message, the messages that contain it and are in it."""
    parts = {message.name: _held(message) for message in messages}
    for _ in messages:
        for name, held in parts.items():
            parts[name] = held.union(*(parts.get(part, ()) for part in held))
    return {
        name: {part for part in held if name in parts.get(part, ())}
        for name, held in parts.items()
    }


def members(message, loops):
    """Returns the members of a message's struct, in the order of the .proto file."""
    result = {}
    for field in message.field:
        value = _value_type(field)
        name = field.name + "_" if field.name in _RESERVED else field.name
        if _is_in_oneof(field):
            name = message.oneof_decl[field.oneof_index].name
            if name in result:
                result[name].fields.append(field)
                continue
            value = ""
        elif _is_repeated(field) or value in loops[message.name]:
            value = f"std::vector<{value}>"
        elif field.type == Field.TYPE_MESSAGE or field.proto3_optional:
            value = f"std::optional<{value}>"
        result[name] = Member(name, value, [field])
    for member in result.values():
        if not member.type:
            kinds = [_value_type(field) for field in member.fields]
            if len(set(kinds)) < len(kinds):
                raise ValueError(f"{member.name}: two kinds of one type")
            member.type = f"std::variant<std::monostate, {', '.join(kinds)}>"
    return list(result.values())


def _in_order_of_use(messages, loops):
    """Returns the messages, each after the messages that its struct needs complete."""
    needs = {
        message.name: {
            kind
            for member in members(message, loops)
            if not member.type.startswith("std::vector")
            for kind in map(_value_type, member.fields)
        }
        for message in messages
    }
    written, ordered = set(), []
    while len(ordered) < len(messages):
        for message in messages:
            name = message.name
            if name not in written and not needs[name] & needs.keys() - written:
                ordered.append(message)
                written.add(name)
                break
        else:
            raise ValueError("messages hold each other")
    return ordered


def _enum(enum, indent=""):
    lines = [f"{indent}enum {enum.name} : std::int32_t {{"]
    for value in enum.value:
        lines.append(f"{indent}  {_enumerator(value.name)} = {value.number},")
    return [*lines, f"{indent}}};"]


def _struct(message, loops):
    lines = [f"struct {message.name} {{"]
    for enum in message.enum_type:
        lines += _enum(enum, "  ")
    for member in members(message, loops):
        plain = member.type in {kind for kind, _ in _NUMBERS.values()}
        lines.append(f"  {member.type} {member.name}{'{}' if plain else ''};")
    return [*lines, "};", ""]


def header(file):
    """Returns the text of the header that declares a file's structs and functions."""
    guard = "FOREBAY_" + file.name.upper().replace("/", "_").replace(".", "_") + "_H_"
    lines = [
        f"// The messages of {file.name}, as tools/protoc writes them.",
        f"#ifndef {guard}",
        f"#define {guard}",
        "",
        "#include <cstdint>",
        "#include <optional>",
        "#include <protozero/pbf_reader.hpp>",
        "#include <string>",
        "#include <string_view>",
        "#include <variant>",
        "#include <vector>",
        "",
    ]
    lines += [
        f'#include "{name.removesuffix(".proto")}.message.h"'
        for name in file.dependency
        if not name.endswith("_options.proto")  # files that only protoc needs
    ]
    lines += ["", f"namespace {NAMESPACE} {{", ""]
    for enum in file.enum_type:
        lines += [*_enum(enum), ""]
    lines += [f"struct {message.name};" for message in file.message_type]
    lines.append("")
    loops = _loops(file.message_type)
    for message in _in_order_of_use(file.message_type, loops):
        lines += _struct(message, loops)
    for message in file.message_type:
        name = message.name
        lines += [
            f"std::string Serialize(const {name}& message);",
            "// Returns false if `bytes` are not such a message.",
            f"bool Parse(std::string_view bytes, {name}* message);",
            "// Throws a protozero::exception if messages lie deeper than `depth`.",
            "void ReadFields(protozero::pbf_reader reader, int depth,",
            f"                {name}* message);",
            "",
        ]
    return "\n".join([*lines, f"}}  // namespace {NAMESPACE}", "", "#endif", ""])


def _write(field, member):
    """Returns a C++ statement that writes a field unless the field has its default."""
    value, number = f"message.{member.name}", field.number
    if _is_in_oneof(field):
        kind = _value_type(field)
        return (
            f"if (const auto* kind = std::get_if<{kind}>(&{value}))\n"
            f"    writer.add_message({number}, Serialize(*kind));"
        )
    if field.type == Field.TYPE_MESSAGE:
        if member.type.startswith("std::vector"):
            each = f"writer.add_message({number}, Serialize(element));"
            return f"for (const auto& element : {value}) {each}"
        return f"if ({value}) writer.add_message({number}, Serialize(*{value}));"
    if field.type in _TEXTS:
        if _is_repeated(field):
            each = f"writer.add_bytes({number}, element);"
            return f"for (const auto& element : {value}) {each}"
        if field.proto3_optional:
            return f"if ({value}) writer.add_bytes({number}, *{value});"
        return f"if (!{value}.empty()) writer.add_bytes({number}, {value});"
    kind = _NUMBERS[field.type][1]
    if _is_repeated(field):
        ends = f"{value}.begin(), {value}.end()"
        return (
            f"if (!{value}.empty())\n"
            f"    writer.add_packed_{kind}({number}, {ends});"
        )
    if field.proto3_optional:
        return f"if ({value}) writer.add_{kind}({number}, *{value});"
    # The default of a double is +0; -0 has other bits, and is written.
    bits = f"std::bit_cast<std::uint64_t>({value})" if kind == "double" else value
    return f"if ({bits} != 0) writer.add_{kind}({number}, {value});"


def _get(field):
    """Returns a C++ expression that reads a number or text."""
    if field.type in _TEXTS:
        return "reader.get_string()"
    # get_bool reads a byte without checking that the message has one.
    kind = _NUMBERS[field.type][1]
    return "reader.get_uint64() != 0" if kind == "bool" else f"reader.get_{kind}()"


def _read(field, name):
    """Returns a dict from wire types to the C++ statement that reads the field."""
    value = f"message->{name}"
    if field.type == Field.TYPE_MESSAGE:
        kind = _value_type(field)
        if _is_in_oneof(field):
            into = f"Held<{kind}>(&{value})"
        elif _is_repeated(field):
            into = f"&{value}.emplace_back()"
        else:
            into = f"Held(&{value})"
        arguments = f"reader.get_message(), depth - 1, {into}"
        return {"length_delimited": f"ReadFields({arguments});"}
    wire = "varint"
    if field.type in _TEXTS:
        wire = "length_delimited"
    elif field.type == Field.TYPE_DOUBLE:
        wire = "fixed64"
    if not _is_repeated(field):
        return {wire: f"{value} = {_get(field)};"}
    statements = {wire: f"{value}.push_back({_get(field)});"}
    if field.type in _NUMBERS:
        packed = f"reader.get_packed_{_NUMBERS[field.type][1]}()"
        statements["length_delimited"] = (
            f"for (const auto element : {packed}) {value}.push_back(element);"
        )
    return statements


def _functions(message, loops):
    named = [(field, m) for m in members(message, loops) for field in m.fields]
    named.sort(key=lambda pair: pair[0].number)
    name = message.name
    lines = [f"std::string Serialize([[maybe_unused]] const {name}& message) {{"]
    lines += ["  std::string bytes;", "  protozero::pbf_writer writer(bytes);"]
    lines += ["  " + _write(field, member) for field, member in named]
    lines += ["  return bytes;", "}", ""]
    lines += [
        "void ReadFields(protozero::pbf_reader reader, int depth,",
        f"                [[maybe_unused]] {name}* message) {{",
        "  if (depth == 0) throw protozero::exception();",
        "  while (reader.next()) {",
        "    switch (reader.tag_and_type()) {",
    ]
    for field, member in named:
        for wire, statement in _read(field, member.name).items():
            kind = f"protozero::pbf_wire_type::{wire}"
            lines += [
                f"      case protozero::tag_and_type({field.number}, {kind}):",
                f"        {statement}",
                "        break;",
            ]
    lines += ["      default:", "        reader.skip();", "    }", "  }", "}", ""]
    lines += [
        f"bool Parse(std::string_view bytes, {name}* message) {{",
        "  *message = {};",
        "  try {",
        "    ReadFields(protozero::pbf_reader(bytes.data(), bytes.size()), kMostDepth,",
        "               message);",
        "    return true;",
        "  } catch (const protozero::exception&) {",
        "    return false;",
        "  }",
        "}",
        "",
    ]
    return lines


def source(file):
    """Returns the text of the .cc file that defines a file's functions."""
    lines = [
        f'#include "{file.name.removesuffix(".proto")}.message.h"',
        "",
        "#include <bit>",
        "#include <protozero/pbf_writer.hpp>",
        "",
        f"namespace {NAMESPACE} {{",
        "namespace {",
        "",
        "// The depth of messages within messages that protobuf reads.",
        "constexpr int kMostDepth = 100;",
        "",
        "template <typename Kind, typename Kinds>",
        "[[maybe_unused]] Kind* Held(Kinds* kinds) {",
        "  Kind* const held = std::get_if<Kind>(kinds);",
        "  return held != nullptr ? held : &kinds->template emplace<Kind>();",
        "}",
        "",
        "template <typename Message>",
        "[[maybe_unused]] Message* Held(std::optional<Message>* message) {",
        "  return *message ? &**message : &message->emplace();",
        "}",
        "",
        "template <typename Message>",
        "[[maybe_unused]] Message* Held(std::vector<Message>* message) {",
        "  return message->empty() ? &message->emplace_back() : &message->front();",
        "}",
        "",
        "}  // namespace",
        "",
    ]
    loops = _loops(file.message_type)
    for message in file.message_type:
        lines += _functions(message, loops)
    return "\n".join([*lines, f"}}  // namespace {NAMESPACE}", ""])
