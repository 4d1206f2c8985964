#ifndef FOREBAY_SERVER_CACHE_DISK_RECORD_H_
#define FOREBAY_SERVER_CACHE_DISK_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

// The format of a record on the disk. A record is self-contained: it describes
// its bytes in full, and its checksums cover all of it. A location is only a
// hint: readers trust nothing but the record.
//
// A record is a header (numbers, then the names of root and object), its data,
// and zeros up to the next multiple of kRecordAlignment. Numbers are
// little-endian, as on this machine.

namespace forebay::cache::disk {

// Reads and writes that bypass the page cache are of whole pages.
inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kRecordAlignment = 16;
// Of root and object together. Bytes with longer names are not stored.
inline constexpr std::size_t kMaxNameBytes = 8192;
inline constexpr std::size_t kRecordHeaderBytes = 80;  // without the names
// The largest header.
inline constexpr std::size_t kMaxRecordHeaderBytes =
    kRecordHeaderBytes + kMaxNameBytes;

constexpr std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Identifies bytes on the disk, for all time. Valid as long as the strings that
// it refers to. Lookups ignore the version's revision; only the record tells
// it.
struct Key {
  std::string_view root;  // its lasting identity
  std::string_view object;
  storage::ObjectVersion version;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Ignores the revision.
bool operator==(const Key& a, const Key& b);

// Returns whether a record can hold such bytes.
bool Fits(const Key& key);

// Part of the format: never changes.
std::uint64_t FingerprintOf(const Key& key);

// Returns the size of the whole record. `key` fits.
std::uint64_t RecordBytes(const Key& key);

// Returns the header of a record in the segment `serial`. `key` fits.
std::string EncodeRecordHeader(const Key& key, std::uint64_t serial,
                               absl::Span<const std::uint8_t> data);

// A valid header; `key` refers to the parsed bytes.
struct RecordHeader {
  Key key;
  std::uint64_t fingerprint = 0;
  std::size_t bytes = 0;       // of the header itself
  std::uint32_t data_crc = 0;  // CRC32C
};

// Returns nullopt if `bytes` do not begin with a whole, undamaged header of
// that segment.
std::optional<RecordHeader> ParseRecordHeader(
    absl::Span<const std::uint8_t> bytes, std::uint64_t serial);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_RECORD_H_
