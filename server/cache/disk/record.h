#ifndef FOREBAY_SERVER_CACHE_DISK_RECORD_H_
#define FOREBAY_SERVER_CACHE_DISK_RECORD_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "absl/types/span.h"
#include "server/storage/byte_source.h"

// The format of a record on the disk. A record is self-contained: its header
// says in full what its bytes are, and its checksums cover header and data. A
// location in the index or in a footer is only a hint: readers trust only the
// record itself.
//
// A record is a header (numbers, then the names of root and object), its data,
// and zeros up to the next multiple of kRecordAlignment. Numbers are
// little-endian, as on this machine. HeaderFields in record.cc has the layout.

namespace forebay::cache::disk {

// The unit of reads and writes that bypass the page cache (O_DIRECT).
inline constexpr std::uint64_t kPageBytes = 4096;
inline constexpr std::uint64_t kRecordAlignment = 16;
// The most bytes that the names of root and object have together. If the names
// are longer, the object's bytes are not stored.
inline constexpr std::size_t kMaxNameBytes = 8192;
inline constexpr std::size_t kRecordHeaderBytes = 80;  // without the names
// The largest header.
inline constexpr std::size_t kMaxRecordHeaderBytes =
    kRecordHeaderBytes + kMaxNameBytes;

// Returns `bytes` rounded up to a multiple of `unit`.
constexpr std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

// Identifies bytes on the disk, across restarts of the daemon and the host. A
// key is valid as long as the strings that it refers to. Lookups ignore the
// version's revision, which only the record has.
struct Key {
  std::string_view root;  // its lasting identity
  std::string_view object;
  storage::ObjectVersion version;
  std::uint64_t offset = 0;
  std::uint64_t length = 0;
};

// Returns whether the keys are equal in all parts but the revision.
bool operator==(const Key& a, const Key& b);

// Returns whether a record can hold the bytes of `key`.
bool Fits(const Key& key);

// Returns the hash by which the index finds a record. The hash is part of the
// format, and must never change.
std::uint64_t FingerprintOf(const Key& key);

// Returns the size in bytes of the whole record of `key`, which fits (see
// Fits).
std::uint64_t RecordBytes(const Key& key);

// Returns the header of a record of `data` in the segment `serial`. `key` fits
// (see Fits).
std::string EncodeRecordHeader(const Key& key, std::uint64_t serial,
                               absl::Span<const std::uint8_t> data);

// A valid header. Its key refers to the parsed bytes.
struct RecordHeader {
  Key key;
  std::uint64_t fingerprint = 0;
  std::size_t bytes = 0;       // of the header itself
  std::uint32_t data_crc = 0;  // CRC-32C
};

// Parses a header at the front of `bytes`. Returns nullopt unless it is whole,
// undamaged, and of the segment `serial`.
std::optional<RecordHeader> ParseRecordHeader(
    absl::Span<const std::uint8_t> bytes, std::uint64_t serial);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_RECORD_H_
