"""Makes lists of fields whose samples are bytes of different lengths."""

import json
import struct

from . import _native, errors


def maker(kind, name, count, splits_offset, ids_offset):
    """Returns a function of (memory, offset) that makes a list of a field's values.

    Args:
      kind: _native.TEXT, JSON or BYTES.
      name: the field's name.
      count: the number of samples in the batch.
      splits_offset: the offset of the bytes' row splits in the memory.
      ids_offset: the offset of the samples' numbers.
    """
    unpack = struct.Struct(f"={count + 1}q").unpack
    splits_bytes = 8 * (count + 1)

    def pieces(memory, offset):
        splits = unpack(memory.read(splits_offset, splits_bytes))
        content = memory.read(offset, splits[-1])
        return [content[begin:end] for begin, end in zip(splits, splits[1:])]

    def texts(memory, offset):
        return [str(piece, "utf-8") for piece in pieces(memory, offset)]

    def parsed(memory, offset):
        values = []
        for piece in pieces(memory, offset):
            try:
                values.append(json.loads(piece))
            except (ValueError, RecursionError) as error:
                at = ids_offset + 8 * len(values)
                number, = struct.unpack("=q", memory.read(at, 8))
                raise errors.DataError(
                    f"sample {number}: {name}: is not JSON: {error}") from None
        return values

    return {_native.TEXT: texts, _native.JSON: parsed,
            _native.BYTES: pieces}[kind]
