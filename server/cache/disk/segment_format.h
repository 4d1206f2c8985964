#ifndef FOREBAY_SERVER_CACHE_DISK_SEGMENT_FORMAT_H_
#define FOREBAY_SERVER_CACHE_DISK_SEGMENT_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "server/cache/disk/record.h"

// The format of a segment: a file with a header page, records one after
// another, and, once it is full, a footer at its end with their locations. A
// write may leave the rest of a page empty. A segment without a footer is
// scanned.

namespace forebay::cache::disk {

inline constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{1} << 30;

// For example "segment-000000000000002a".
std::string SegmentName(std::uint64_t serial);
// Returns nullopt if it is not the name of a segment.
std::optional<std::uint64_t> SerialOf(std::string_view name);

// The location of a record. Only a hint: readers verify the record.
struct RecordLocation {
  std::uint64_t fingerprint = 0;
  std::uint32_t offset = 0;  // in the segment; a multiple of kRecordAlignment
  std::uint32_t bytes = 0;   // of the record
};

// Returns the first page of a segment of `bytes` bytes, whole pages.
std::string EncodeSegmentHeader(std::uint64_t serial, std::uint64_t bytes);
// Returns whether `page` is the header of that segment.
bool IsSegmentHeader(absl::Span<const std::uint8_t> page, std::uint64_t serial,
                     std::uint64_t bytes);

// Returns the size of a footer for so many records, in whole pages.
std::uint64_t FooterBytes(std::uint64_t records);
std::string EncodeFooter(std::uint64_t serial,
                         absl::Span<const RecordLocation> locations);
// Returns the size of the footer, in bytes, as its last page tells. Returns
// nullopt if there is none.
std::optional<std::uint64_t> FooterBytesAt(
    absl::Span<const std::uint8_t> last_page, std::uint64_t serial,
    std::uint64_t segment_bytes);
// Parses the whole `footer`. All locations lie between header and footer.
// Returns nullopt if it is damaged.
std::optional<std::vector<RecordLocation>> ParseFooter(
    absl::Span<const std::uint8_t> footer, std::uint64_t serial,
    std::uint64_t segment_bytes);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_FORMAT_H_
