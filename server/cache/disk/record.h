#ifndef FOREBAY_SERVER_CACHE_DISK_RECORD_H_
#define FOREBAY_SERVER_CACHE_DISK_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

// What stands on the disk. A record is true on its own: it says in full what
// its bytes are, and its checksums cover all of it. Where one lies is only a
// hint: whoever follows it believes nothing but the record.
//
// A record is a front (numbers, then the names of root and object), its data,
// and zeros up to the next multiple of kRecordAlignment. Numbers are those of
// this machine: little-endian.

namespace forebay::cache::disk {

// Reads and writes past the page cache are of whole pages.
inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kRecordAlignment = 16;
// Of root and object together; what has longer names is not kept.
inline constexpr std::size_t kMaxNameBytes = 8192;
inline constexpr std::size_t kFrontBytes = 80;  // without the names
// All that a front may take.
inline constexpr std::size_t kMaxFrontBytes = kFrontBytes + kMaxNameBytes;

constexpr std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// What bytes are, for as long as a disk keeps them. Valid as long as what it
// was made of. They are looked for by all of it but the version's revision,
// which the record alone tells.
struct Key {
  std::string_view root;  // its lasting identity
  std::string_view object;
  storage::ObjectVersion version;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// The revision left out.
bool operator==(const Key& a, const Key& b);

// Whether a record can be made of it at all.
bool Fits(const Key& key);

// Part of the format: the same for ever.
std::uint64_t FingerprintOf(const Key& key);

// Of the record: with its front and what follows it. `key` fits.
std::uint64_t RecordBytes(const Key& key);

// The front of a record in the segment `serial`; `key` fits.
std::string EncodeFront(const Key& key, std::uint64_t serial,
                        absl::Span<const std::uint8_t> data);

// A front that is true; `key` refers to the bytes it was read from.
struct Front {
  Key key;
  std::uint64_t fingerprint = 0;
  std::size_t bytes = 0;       // of the front itself
  std::uint32_t data_crc = 0;  // CRC32C
};

// Nullopt: `bytes` do not begin with a whole, undamaged front of that segment.
std::optional<Front> ParseFront(absl::Span<const std::uint8_t> bytes,
                                std::uint64_t serial);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_RECORD_H_
