#include "client/wire/placement_codec.h"

#include "client/wire/wire_types.h"

namespace forebay::client::wire {
namespace {

using Reader = protozero::pbf_reader;

Tail ReadTail(Reader reader) {
  Tail tail;
  while (reader.next()) {
    if (IsVarint(reader, 1))
      tail.dtype = reader.get_uint64();
    else if (IsVarint(reader, 2))
      tail.layout = reader.get_uint64();
    else if (IsVarint(reader, 3))
      tail.channels = reader.get_uint64();
    else if (IsBytes(reader, 4))
      tail.table = reader.get_string();
    else
      reader.skip();
  }
  return tail;
}

}  // namespace

LoaderPlacement ReadPlacement(Reader reader) {
  LoaderPlacement placement;
  while (reader.next()) {
    if (IsBytes(reader, 1))
      placement.gpu_uuid = reader.get_string();
    else if (IsBytes(reader, 2))
      placement.refusal = reader.get_string();
    else if (IsVarint(reader, 3))
      placement.device_bytes = reader.get_uint64();
    else if (IsBytes(reader, 4))
      placement.tail = ReadTail(reader.get_message());
    else
      reader.skip();
  }
  return placement;
}

}  // namespace forebay::client::wire
