#include "client/wire/object_codec.h"

#include <protozero/pbf_builder.hpp>

#include "client/wire/wire_types.h"

namespace forebay::client::wire {
namespace {

using Tag = protozero::pbf_tag_type;

// Field numbers of proto.ReadObject and proto.ObjectVersion in
// proto/session.proto.
enum class RangeTag : Tag {
  kRoot = 1,
  kName = 2,
  kVersion = 3,
  kOffset = 4,
  kLength = 5,
  kBlockBytes = 6,
};
enum class VersionTag : Tag {
  kSize = 1,
  kStamp = 2,
  kInode = 3,
  kCtimeNanos = 4,
};

// Decodes a sint64, which protobuf writes as a zigzag varint (Protocol Buffers'
// "Encoding", Signed Integers).
std::int64_t Signed(std::uint64_t zigzag) {
  return protozero::decode_zigzag64(zigzag);
}

forebay_object_version ReadVersion(protozero::pbf_reader reader) {
  forebay_object_version version = {};
  while (reader.next()) {
    if (IsVarint(reader, 1))
      version.size = reader.get_uint64();
    else if (IsVarint(reader, 2))
      version.stamp = Signed(reader.get_uint64());
    else if (IsVarint(reader, 3))
      version.inode = reader.get_uint64();
    else if (IsVarint(reader, 4))
      version.ctime_nanos = Signed(reader.get_uint64());
    else
      reader.skip();
  }
  return version;
}

void AddVersion(const forebay_object_version& version,
                protozero::pbf_builder<RangeTag>& range) {
  protozero::pbf_builder<VersionTag> message(range, RangeTag::kVersion);
  message.add_uint64(VersionTag::kSize, version.size);
  message.add_sint64(VersionTag::kStamp, version.stamp);
  message.add_uint64(VersionTag::kInode, version.inode);
  message.add_sint64(VersionTag::kCtimeNanos, version.ctime_nanos);
}

}  // namespace

std::string EncodeObjectRange(const forebay_object_range& range) {
  std::string bytes;
  protozero::pbf_builder<RangeTag> message(bytes);
  message.add_string(RangeTag::kRoot, range.root);
  message.add_string(RangeTag::kName, range.name);
  if (range.version != nullptr) AddVersion(*range.version, message);
  message.add_uint64(RangeTag::kOffset, range.offset);
  message.add_uint64(RangeTag::kLength, range.length);
  message.add_uint32(RangeTag::kBlockBytes, range.block_bytes);
  return bytes;
}

ObjectRead ReadObjectRead(protozero::pbf_reader reader) {
  ObjectRead read;
  while (reader.next()) {
    if (IsBytes(reader, 1))
      read.version = ReadVersion(reader.get_message());
    else if (IsVarint(reader, 2))
      read.bytes = reader.get_uint64();
    else if (IsVarint(reader, 3))
      read.window_bytes = reader.get_uint64();
    else
      reader.skip();
  }
  return read;
}

}  // namespace forebay::client::wire
