#ifndef FOREBAY_SERVER_CACHE_DISK_SEGMENT_FORMAT_H_
#define FOREBAY_SERVER_CACHE_DISK_SEGMENT_FORMAT_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/types/span.h"
#include "server/cache/disk/record.h"

// The format of a segment, a file of fixed size. A segment has a header page,
// then its records. A full segment also has a footer at its end, with the
// records' locations. Where a write ended, the rest of the page is zeros, and
// the next record begins at the next page. The records of a segment without a
// footer are found by a scan of their headers (recovery.h).
//
// The functions are thread-safe and never block. Functions that read a
// segment's bytes return false or nullopt if the bytes are damaged.

namespace forebay::cache::disk {

inline constexpr std::uint64_t kMaxSegmentBytes = std::uint64_t{1} << 30;

// Returns the file name of a segment, such as "segment-000000000000002a".
std::string SegmentName(std::uint64_t serial);
// Returns the serial in the name of a segment; nullopt for other names.
std::optional<std::uint64_t> SerialOf(std::string_view name);

// The location of a record. A location is only a hint: readers verify the
// record. A footer is an array of RecordLocation, so its layout is part of the
// format.
struct RecordLocation {
  std::uint64_t fingerprint = 0;
  std::uint32_t offset = 0;  // in the segment; a multiple of kRecordAlignment
  std::uint32_t bytes = 0;   // of the record
};

// Returns the first page of a segment whose file has `bytes` bytes, a multiple
// of a page.
std::string EncodeSegmentHeader(std::uint64_t serial, std::uint64_t bytes);
// Returns whether `page` is the header of segment `serial`, whose file has
// `bytes` bytes.
bool IsSegmentHeader(absl::Span<const std::uint8_t> page, std::uint64_t serial,
                     std::uint64_t bytes);

// Returns the number of bytes of a footer for `records` records, a multiple of
// a page.
std::uint64_t FooterBytes(std::uint64_t records);
// Returns the footer of segment `serial` with the records at `locations`.
std::string EncodeFooter(std::uint64_t serial,
                         absl::Span<const RecordLocation> locations);
// Returns the number of bytes of the whole footer that ends with `last_page`,
// the segment's last page. Returns nullopt if the page is not the end of a
// footer. The number may be damaged until HasFooterChecksum has returned true.
std::optional<std::uint64_t> FooterBytesAt(
    absl::Span<const std::uint8_t> last_page, std::uint64_t serial,
    std::uint64_t segment_bytes);
// Reads `length` bytes, at most kFooterPieceBytes, at `offset` of a segment.
// The bytes are valid until the next call. Returns no bytes if the disk fails.
using ReadPiece = std::function<absl::Span<const std::uint8_t>(
    std::uint64_t offset, std::size_t length)>;
inline constexpr std::size_t kFooterPieceBytes = std::size_t{64} << 10;
// Returns whether the footer that ends with `last_page` matches its checksum.
// Call it only if FooterBytesAt has returned a value for this page. Reads the
// footer piece by piece, so that a damaged number of records takes no memory.
bool HasFooterChecksum(absl::Span<const std::uint8_t> last_page,
                       std::uint64_t segment_bytes, const ReadPiece& read);
// Returns the locations of the records that `footer`, a whole footer, lists.
// Each lies between the segment's header and the footer. Returns nullopt if the
// footer is damaged.
std::optional<std::vector<RecordLocation>> ParseFooter(
    absl::Span<const std::uint8_t> footer, std::uint64_t serial,
    std::uint64_t segment_bytes);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_FORMAT_H_
