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

struct Numbers {
  std::uint32_t magic;
  std::uint32_t crc;  // of the front, this number left out
  std::uint64_t serial;
  std::uint64_t fingerprint;
  std::uint64_t version_size;
  std::int64_t version_stamp;
  std::uint64_t offset;
  std::uint32_t length;
  std::uint32_t data_crc;
  std::uint16_t root_bytes;
  std::uint16_t object_bytes;
  std::uint32_t zero;
  std::uint64_t inode;
  std::int64_t ctime_nanos;
};
static_assert(sizeof(Numbers) == kFrontBytes);
static_assert(std::is_trivially_copyable_v<Numbers>);

absl::Span<const std::uint8_t> BytesOf(std::string_view text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::uint32_t CrcOf(Numbers numbers, std::string_view root,
                    std::string_view object) {
  numbers.crc = 0;
  const std::uint32_t crc = base::Crc32c(
      {reinterpret_cast<const std::uint8_t*>(&numbers), sizeof(numbers)});
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
  const std::array<std::uint64_t, 5> numbers = {
      XXH3_64bits(key.root.data(), key.root.size()), key.version.size,
      static_cast<std::uint64_t>(key.version.stamp), key.offset, key.length};
  return XXH3_64bits_withSeed(key.object.data(), key.object.size(),
                              XXH3_64bits(numbers.data(), sizeof(numbers)));
}

std::uint64_t RecordBytes(const Key& key) {
  return RoundUp(kFrontBytes + key.root.size() + key.object.size() + key.length,
                 kRecordAlignment);
}

std::string EncodeFront(const Key& key, std::uint64_t serial,
                        absl::Span<const std::uint8_t> data) {
  FOREBAY_CHECK(Fits(key) && data.size() == key.length);
  Numbers numbers = {};
  numbers.magic = kMagic;
  numbers.serial = serial;
  numbers.fingerprint = FingerprintOf(key);
  numbers.version_size = key.version.size;
  numbers.version_stamp = key.version.stamp;
  numbers.inode = key.version.revision.inode;
  numbers.ctime_nanos = key.version.revision.ctime_nanos;
  numbers.offset = key.offset;
  numbers.length = static_cast<std::uint32_t>(key.length);
  numbers.data_crc = base::Crc32c(data);
  numbers.root_bytes = static_cast<std::uint16_t>(key.root.size());
  numbers.object_bytes = static_cast<std::uint16_t>(key.object.size());
  numbers.crc = CrcOf(numbers, key.root, key.object);
  std::string front;
  front.reserve(sizeof(numbers) + key.root.size() + key.object.size());
  front.append(reinterpret_cast<const char*>(&numbers), sizeof(numbers));
  front += key.root;
  front += key.object;
  return front;
}

std::optional<Front> ParseFront(absl::Span<const std::uint8_t> bytes,
                                std::uint64_t serial) {
  Numbers numbers;
  if (bytes.size() < sizeof(numbers)) return std::nullopt;
  std::memcpy(&numbers, bytes.data(), sizeof(numbers));
  if (numbers.magic != kMagic || numbers.serial != serial ||
      numbers.zero != 0 ||
      bytes.size() - sizeof(numbers) <
          std::size_t{numbers.root_bytes} + numbers.object_bytes) {
    return std::nullopt;
  }
  const auto* names =
      reinterpret_cast<const char*>(bytes.data()) + sizeof(numbers);
  const Front front = {
      .key = {.root = {names, numbers.root_bytes},
              .object = {names + numbers.root_bytes, numbers.object_bytes},
              .version = {numbers.version_size,
                          numbers.version_stamp,
                          {numbers.inode, numbers.ctime_nanos}},
              .offset = numbers.offset,
              .length = numbers.length},
      .fingerprint = numbers.fingerprint,
      .bytes = sizeof(numbers) + numbers.root_bytes + numbers.object_bytes,
      .data_crc = numbers.data_crc};
  if (!Fits(front.key) ||
      numbers.crc != CrcOf(numbers, front.key.root, front.key.object) ||
      numbers.fingerprint != FingerprintOf(front.key)) {
    return std::nullopt;
  }
  return front;
}

}  // namespace forebay::cache::disk
