"""Writes a Python table of messages, for programs that do not have protobuf."""

from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field

_KINDS = {
    Field.TYPE_UINT32: "uint32",
    Field.TYPE_UINT64: "uint64",
    Field.TYPE_SINT32: "sint32",
    Field.TYPE_SINT64: "sint64",
    Field.TYPE_BOOL: "bool",
    Field.TYPE_DOUBLE: "double",
    Field.TYPE_BYTES: "bytes",
}

_HEAD = '''\
"""Messages of proto/, as tools/protoc writes them.

MESSAGES has the fields of each message by their names: number and type. ENUMS has the
numbers of each enum's names.
"""

from typing import Dict, Tuple
'''


def _name(type_name):
    return type_name.removeprefix(".forebay.proto.")


def _kind(field):
    kind = _KINDS.get(field.type) or _name(field.type_name)
    if not kind:
        raise ValueError(f"{field.name}: fields of this type have no Python here")
    if field.label == Field.LABEL_REPEATED:
        return f"repeated {kind}"
    return f"optional {kind}" if field.proto3_optional else kind


def _types(files):
    """Returns all messages and all enums of the files, by their names."""
    messages = {m.name: m for file in files for m in file.message_type}
    enums = {e.name: e for file in files for e in file.enum_type}
    for message in messages.values():
        enums.update({f"{message.name}.{e.name}": e for e in message.enum_type})
    return messages, enums


def module(files, roots):
    """Returns the text of a module with the messages `roots` and all their parts."""
    messages, enums = _types(files)
    reached, used = list(roots), set()
    for name in reached:
        for field in messages[name].field:
            kind = _name(field.type_name)
            if kind in messages and kind not in reached:
                reached.append(kind)
            elif kind in enums:
                used.add(kind)
    lines = [_HEAD, "MESSAGES: Dict[str, Dict[str, Tuple[int, str]]] = {"]
    for name in sorted(reached):
        fields = [
            f'        "{field.name}": ({field.number}, "{_kind(field)}"),'
            for field in messages[name].field
        ]
        empty = f'    "{name}": {{}},'
        lines += [f'    "{name}": {{', *fields, "    },"] if fields else [empty]
    lines += ["}", "", "ENUMS: Dict[str, Dict[str, int]] = {"]
    for name in sorted(used):
        lines.append(f'    "{name}": {{')
        lines += [f'        "{v.name}": {v.number},' for v in enums[name].value]
        lines.append("    },")
    return "\n".join([*lines, "}", ""])
