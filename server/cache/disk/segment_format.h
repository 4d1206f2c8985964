#ifndef FOREBAY_SERVER_CACHE_DISK_SEGMENT_FORMAT_H_
#define FOREBAY_SERVER_CACHE_DISK_SEGMENT_FORMAT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "server/cache/disk/record.h"

// A segment is a file of records: a page with its head, records one behind the
// other (a write may leave the rest of a page empty), and, once it is full, a
// footer at its end that says where they lie. A segment without a footer is
// read through once.

namespace forebay::cache::disk {

inline constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{1} << 30;

// "segment-000000000000002a".
std::string SegmentName(std::uint64_t serial);
// Nullopt: no segment has that name.
std::optional<std::uint64_t> SerialOf(std::string_view name);

// Where a record lies; believed by nobody.
struct RecordLocation {
  std::uint64_t fingerprint = 0;
  std::uint32_t offset = 0;  // in the segment, of kRecordAlignment
  std::uint32_t bytes = 0;   // of the record
};

// The first page of a segment of `bytes` bytes, whole pages.
std::string EncodeHead(std::uint64_t serial, std::uint64_t bytes);
// Whether `page` is the head of that segment.
bool IsHead(absl::Span<const std::uint8_t> page, std::uint64_t serial,
            std::uint64_t bytes);

// What the footer for so many records takes: whole pages.
std::uint64_t FooterBytes(std::uint64_t records);
std::string EncodeFooter(std::uint64_t serial,
                         absl::Span<const RecordLocation> places);
// How many bytes at the end of the segment the footer takes, as its last page
// says; nullopt: there is none.
std::optional<std::uint64_t> FooterBytesAt(
    absl::Span<const std::uint8_t> last_page, std::uint64_t serial,
    std::uint64_t segment_bytes);
// `footer` is all of it. Nullopt: it is damaged. All places lie between head
// and footer.
std::optional<std::vector<RecordLocation>> ParseFooter(
    absl::Span<const std::uint8_t> footer, std::uint64_t serial,
    std::uint64_t segment_bytes);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_FORMAT_H_
