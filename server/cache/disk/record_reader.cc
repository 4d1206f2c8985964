#include "server/cache/disk/record_reader.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/crc32c.h"
#include "server/base/status.h"

namespace forebay::cache::disk {
namespace {

// Returns the error of a record that is not what it should be.
absl::Status Damaged(const Index::Match& found, std::string_view why) {
  return absl::DataLossError(
      absl::StrCat(SegmentName(found.file->serial), ": the record at ",
                   found.location.offset, " ", std::string(why)));
}

}  // namespace

// The record is read in pieces of whole pages, the first of which has the whole
// header. The data is copied out of the scratch buffer, because it begins
// anywhere in a page and cached bytes should take no more memory than their
// length. The copy is cheap: the checksum has just brought the data into the
// CPU's cache.
absl::StatusOr<base::Bytes> ReadRecord(Volume& volume,
                                       const Index::Match& found,
                                       const Key& key,
                                       const PageBuffer& scratch,
                                       storage::BufferPool& buffers) {
  const RecordLocation& location = found.location;
  const std::uint64_t record_end =
      std::uint64_t{location.offset} + location.bytes;
  if (RecordBytes(key) != location.bytes || record_end > found.file->bytes) {
    return Damaged(found, "is another one");
  }
  std::shared_ptr<std::uint8_t> buffer = buffers.Take(key.length);
  if (buffer == nullptr) {
    return absl::UnavailableError("no memory for the cached bytes");
  }
  std::size_t filled = 0;
  std::uint32_t crc = 0;
  std::optional<std::uint32_t> data_crc;
  std::uint64_t skipped = location.offset % kPageBytes;
  std::uint64_t at = location.offset - skipped;
  while (filled < key.length) {
    const absl::Span<std::uint8_t> pages = scratch.span().first(
        std::min(scratch.span().size(), RoundUp(record_end - at, kPageBytes)));
    FOREBAY_RETURN_IF_ERROR(ReadPages(volume, *found.file, pages, at));
    at += pages.size();
    absl::Span<const std::uint8_t> bytes = pages.subspan(skipped);
    skipped = 0;
    if (!data_crc.has_value()) {
      const auto header = ParseRecordHeader(bytes, found.file->serial);
      if (!header.has_value()) return Damaged(found, "is damaged");
      if (!(header->key == key)) return Damaged(found, "is another one");
      if (header->key.version.revision != key.version.revision) {
        return absl::NotFoundError(
            absl::StrCat(std::string(key.object), ": was replaced since"));
      }
      data_crc = header->data_crc;
      bytes.remove_prefix(header->bytes);
    }
    bytes =
        bytes.first(std::min<std::size_t>(bytes.size(), key.length - filled));
    crc = base::Crc32c(bytes, crc);
    std::memcpy(buffer.get() + filled, bytes.data(), bytes.size());
    filled += bytes.size();
  }
  if (crc != *data_crc) {
    return Damaged(found, "does not match its checksum");
  }
  const absl::Span<const std::uint8_t> span(buffer.get(), key.length);
  return base::Bytes(std::move(buffer), span);
}

absl::StatusOr<WholeRecord> ReadWholeRecord(Volume& volume,
                                            const Index::Match& found,
                                            const PageBuffer& scratch) {
  const RecordLocation& location = found.location;
  const std::uint64_t record_end =
      std::uint64_t{location.offset} + location.bytes;
  if (record_end > found.file->bytes) return Damaged(found, "is another one");
  const std::uint64_t skipped = location.offset % kPageBytes;
  const std::uint64_t begin = location.offset - skipped;
  const std::uint64_t length = RoundUp(record_end - begin, kPageBytes);
  if (length > scratch.span().size()) {
    return absl::OutOfRangeError("a record is too large");
  }
  const absl::Span<std::uint8_t> pages = scratch.span().first(length);
  FOREBAY_RETURN_IF_ERROR(ReadPages(volume, *found.file, pages, begin));
  const absl::Span<const std::uint8_t> bytes =
      pages.subspan(skipped, location.bytes);
  const auto header = ParseRecordHeader(bytes, found.file->serial);
  if (!header.has_value()) return Damaged(found, "is damaged");
  if (RecordBytes(header->key) != location.bytes ||
      header->fingerprint != location.fingerprint) {
    return Damaged(found, "is another one");
  }
  const auto data = bytes.subspan(header->bytes, header->key.length);
  if (base::Crc32c(data) != header->data_crc) {
    return Damaged(found, "does not match its checksum");
  }
  return WholeRecord{header->key, data};
}

}  // namespace forebay::cache::disk
