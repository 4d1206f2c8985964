#include "server/cache/disk/record.h"

#include <array>
#include <bit>
#include <cstring>
#include <type_traits>

#include "server/base/check.h"
#include "server/base/crc32c.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace forebay::cache::disk {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::uint32_t kMagic = 0x43524246;  // "FBRC"

// The numbers of a header, as they lie on the disk. The names follow them.
struct HeaderFields {
  std::uint32_t magic;
  std::uint32_t crc;  // of numbers and names, with this field as 0
  std::uint64_t serial;
  std::uint64_t fingerprint;
  std::uint64_t version_size;
  std::int64_t version_stamp;
  std::uint64_t offset;
  std::uint32_t length;
  std::uint32_t data_crc;
  std::uint16_t root_bytes;
  std::uint16_t object_bytes;
  std::uint32_t zero;  // unused; a reader refuses other values
  std::uint64_t inode;
  std::int64_t ctime_nanos;
};
static_assert(sizeof(HeaderFields) == kRecordHeaderBytes);
static_assert(std::is_trivially_copyable_v<HeaderFields>);

absl::Span<const std::uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

// Returns the checksum of a header: of its numbers, with `crc` set to 0, then
// of the names.
std::uint32_t CrcOf(HeaderFields fields, std::string_view root,
                    std::string_view object) {
  fields.crc = 0;
  const std::uint32_t crc = base::Crc32c(
      {reinterpret_cast<const std::uint8_t*>(&fields), sizeof(fields)});
  return base::Crc32c(BytesOf(object), base::Crc32c(BytesOf(root), crc));
}

}  // namespace

bool operator==(const Key& a, const Key& b) {
  return a.offset == b.offset && a.length == b.length &&
         a.version.size == b.version.size &&
         a.version.stamp == b.version.stamp && a.object == b.object &&
         a.root == b.root;
}

bool Fits(const Key& key) {
  return key.length > 0 && key.length <= UINT32_MAX &&
         key.root.size() + key.object.size() <= kMaxNameBytes;
}

std::uint64_t FingerprintOf(const Key& key) {
  const std::array<std::uint64_t, 5> fields = {
      XXH3_64bits(key.root.data(), key.root.size()), key.version.size,
      static_cast<std::uint64_t>(key.version.stamp), key.offset, key.length};
  return XXH3_64bits_withSeed(key.object.data(), key.object.size(),
                              XXH3_64bits(fields.data(), sizeof(fields)));
}

std::uint64_t RecordBytes(const Key& key) {
  return RoundUp(
      kRecordHeaderBytes + key.root.size() + key.object.size() + key.length,
      kRecordAlignment);
}

std::string EncodeRecordHeader(const Key& key, std::uint64_t serial,
                               absl::Span<const std::uint8_t> data) {
  FOREBAY_CHECK(Fits(key) && data.size() == key.length);
  HeaderFields fields = {};
  fields.magic = kMagic;
  fields.serial = serial;
  fields.fingerprint = FingerprintOf(key);
  fields.version_size = key.version.size;
  fields.version_stamp = key.version.stamp;
  fields.inode = key.version.revision.inode;
  fields.ctime_nanos = key.version.revision.ctime_nanos;
  fields.offset = key.offset;
  fields.length = static_cast<std::uint32_t>(key.length);
  fields.data_crc = base::Crc32c(data);
  fields.root_bytes = static_cast<std::uint16_t>(key.root.size());
  fields.object_bytes = static_cast<std::uint16_t>(key.object.size());
  fields.crc = CrcOf(fields, key.root, key.object);
  std::string header;
  header.reserve(sizeof(fields) + key.root.size() + key.object.size());
  header.append(reinterpret_cast<const char*>(&fields), sizeof(fields));
  header += key.root;
  header += key.object;
  return header;
}

std::optional<RecordHeader> ParseRecordHeader(
    absl::Span<const std::uint8_t> bytes, std::uint64_t serial) {
  HeaderFields fields;
  if (bytes.size() < sizeof(fields)) return std::nullopt;
  std::memcpy(&fields, bytes.data(), sizeof(fields));
  if (fields.magic != kMagic || fields.serial != serial || fields.zero != 0 ||
      bytes.size() - sizeof(fields) <
          std::size_t{fields.root_bytes} + fields.object_bytes) {
    return std::nullopt;
  }
  const auto* names =
      reinterpret_cast<const char*>(bytes.data()) + sizeof(fields);
  const RecordHeader header = {
      .key = {.root = {names, fields.root_bytes},
              .object = {names + fields.root_bytes, fields.object_bytes},
              .version = {fields.version_size,
                          fields.version_stamp,
                          {fields.inode, fields.ctime_nanos}},
              .offset = fields.offset,
              .length = fields.length},
      .fingerprint = fields.fingerprint,
      .bytes = sizeof(fields) + fields.root_bytes + fields.object_bytes,
      .data_crc = fields.data_crc};
  if (!Fits(header.key) ||
      fields.crc != CrcOf(fields, header.key.root, header.key.object) ||
      fields.fingerprint != FingerprintOf(header.key)) {
    return std::nullopt;
  }
  return header;
}

}  // namespace forebay::cache::disk
