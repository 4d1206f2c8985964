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

absl::Status Damaged(const Index::Found& found, std::string_view why) {
  return absl::DataLossError(
      absl::StrCat(SegmentName(found.file->serial), ": the record at ",
                   found.place.offset, " ", std::string(why)));
}

}  // namespace

// The record is read in pieces, of which the first holds all of the front. Data
// is copied out of the scratch: it begins anywhere in its page, and what is
// kept of it should take no more memory than it has bytes. It is in the CPU's
// cache then, for its checksum was just computed.
absl::StatusOr<base::Bytes> ReadRecord(Volume& volume,
                                       const Index::Found& found,
                                       const Key& key,
                                       const PageBuffer& scratch,
                                       storage::BufferPool& buffers) {
  const RecordLocation& place = found.place;
  const std::uint64_t record_end = std::uint64_t{place.offset} + place.bytes;
  if (RecordBytes(key) != place.bytes || record_end > found.file->bytes) {
    return Damaged(found, "is another one");
  }
  std::shared_ptr<std::uint8_t> buffer = buffers.Take(key.length);
  if (buffer == nullptr) {
    return absl::UnavailableError("no memory for what was kept");
  }
  std::size_t filled = 0;
  std::uint32_t crc = 0;
  std::optional<std::uint32_t> data_crc;
  std::uint64_t skipped = place.offset % kPageBytes;
  std::uint64_t at = place.offset - skipped;
  while (filled < key.length) {
    const absl::Span<std::uint8_t> pages = scratch.span().first(
        std::min(scratch.span().size(), RoundUp(record_end - at, kPageBytes)));
    FOREBAY_RETURN_IF_ERROR(ReadPages(volume, *found.file, pages, at));
    at += pages.size();
    absl::Span<const std::uint8_t> bytes = pages.subspan(skipped);
    skipped = 0;
    if (!data_crc.has_value()) {
      const auto front = ParseFront(bytes, found.file->serial);
      if (!front.has_value()) return Damaged(found, "is damaged");
      if (!(front->key == key)) return Damaged(found, "is another one");
      if (front->key.version.revision != key.version.revision) {
        return absl::NotFoundError(
            absl::StrCat(std::string(key.object), ": was replaced since"));
      }
      data_crc = front->data_crc;
      bytes.remove_prefix(front->bytes);
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

absl::StatusOr<WholeRecord> ReadWhole(Volume& volume, const Index::Found& found,
                                      const PageBuffer& scratch) {
  const RecordLocation& place = found.place;
  const std::uint64_t record_end = std::uint64_t{place.offset} + place.bytes;
  if (record_end > found.file->bytes) return Damaged(found, "is another one");
  const std::uint64_t skipped = place.offset % kPageBytes;
  const std::uint64_t begin = place.offset - skipped;
  const std::uint64_t length = RoundUp(record_end - begin, kPageBytes);
  if (length > scratch.span().size()) {
    return absl::OutOfRangeError("a record is too large");
  }
  const absl::Span<std::uint8_t> pages = scratch.span().first(length);
  FOREBAY_RETURN_IF_ERROR(ReadPages(volume, *found.file, pages, begin));
  const absl::Span<const std::uint8_t> bytes =
      pages.subspan(skipped, place.bytes);
  const auto front = ParseFront(bytes, found.file->serial);
  if (!front.has_value()) return Damaged(found, "is damaged");
  if (RecordBytes(front->key) != place.bytes ||
      front->fingerprint != place.fingerprint) {
    return Damaged(found, "is another one");
  }
  const auto data = bytes.subspan(front->bytes, front->key.length);
  if (base::Crc32c(data) != front->data_crc) {
    return Damaged(found, "does not match its checksum");
  }
  return WholeRecord{front->key, data};
}

}  // namespace forebay::cache::disk
