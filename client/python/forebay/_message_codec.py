"""Writes and reads the messages of _messages.py in the encoding of Protocol Buffers.

The bytes are those that protobuf itself would write. Fields come in the order of their
numbers; fields with their default value are left out.
"""

from __future__ import annotations

import struct
from typing import Any, Dict, Mapping, Tuple

from ._messages import ENUMS, MESSAGES

_VARINT, _FIXED64, _DELIMITED = 0, 1, 2  # wire types


def _varint(number: int) -> bytes:
    if not 0 <= number < 1 << 64:
        raise OverflowError(f"{number} is not an unsigned number of 64 bits")
    groups = bytearray()
    while number > 0x7F:
        groups.append(number & 0x7F | 0x80)
        number >>= 7
    groups.append(number)
    return bytes(groups)


def _tagged(number: int, wire_type: int, payload: bytes) -> bytes:
    tag = _varint(number << 3 | wire_type)
    if wire_type == _DELIMITED:
        tag += _varint(len(payload))
    return tag + payload


def _scalar(kind: str, value: Any) -> bytes:
    if kind == "double":
        return struct.pack("<d", value)
    if kind in ("sint32", "sint64"):  # zigzag: the sign in the lowest bit
        return _varint(value << 1 if value >= 0 else (-value << 1) - 1)
    if kind in ENUMS:
        return _varint(ENUMS[kind][value])
    return _varint(int(value))


def _field(number: int, kind: str, value: Any) -> bytes:
    label, _, kind = kind.rpartition(" ")
    if kind in MESSAGES:
        parts = value if label == "repeated" else [value]
        encoded = [encode(kind, part) for part in parts]
        return b"".join(_tagged(number, _DELIMITED, part) for part in encoded)
    if label == "repeated":
        packed = b"".join(_scalar(kind, element) for element in value)
        return _tagged(number, _DELIMITED, packed) if packed else b""
    if kind == "bytes":
        return _tagged(number, _DELIMITED, value) if value else b""
    payload = _scalar(kind, value)
    if not label and not any(payload):
        return b""
    return _tagged(number, _FIXED64 if kind == "double" else _VARINT, payload)


def encode(message: str, values: Mapping[str, Any]) -> bytes:
    """Returns a serialized message.

    `values` has the fields by name. None stands for a field that is not set. An enum's
    value is its name; a message is a mapping. KeyError: the message has no such field,
    or the enum has no such name.
    """
    fields = MESSAGES[message]
    ordered = sorted(values, key=lambda name: fields[name][0])
    return b"".join(_field(*fields[name], values[name]) for name in ordered
                    if values[name] is not None)


def _read_varint(data: bytes, at: int) -> Tuple[int, int]:
    """Returns the number at an offset, and the offset after it."""
    number = shift = 0
    while True:
        number |= (data[at] & 0x7F) << shift
        at, shift, more = at + 1, shift + 7, data[at] & 0x80
        if not more:
            return number, at


def decode_counters(message: str, data: bytes) -> Dict[str, int]:
    """Returns the fields of a message that consists of unsigned numbers and bools."""
    names = {number: name for name, (number, _) in MESSAGES[message].items()}
    values = dict.fromkeys(MESSAGES[message], 0)
    at = 0
    while at < len(data):
        tag, at = _read_varint(data, at)
        value, at = _read_varint(data, at)
        if tag >> 3 in names:
            values[names[tag >> 3]] = value
    return values
