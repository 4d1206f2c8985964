#include "server/cache/disk/recovery.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/cache/disk/record.h"
#include "spdlog/spdlog.h"

namespace forebay::cache::disk {
namespace {

constexpr std::size_t kScratchBytes = std::size_t{1} << 20;
static_assert(kScratchBytes > 2 * RoundUp(kMaxRecordHeaderBytes, kPageBytes));
static_assert(kScratchBytes > 2 * kFooterPieceBytes);

// Reads one segment through a scratch buffer. The buffer keeps the part that
// was read last for the next call, so a scan in order reads each page once or
// twice.
class SegmentScan {
 public:
  SegmentScan(Volume& volume, const SegmentFile& file, PageBuffer& scratch)
      : volume_(volume), file_(file), scratch_(scratch) {}

  // Returns up to `length` bytes at `offset`: fewer at the file's end, and none
  // if the disk fails.
  absl::Span<const std::uint8_t> Read(std::uint64_t offset,
                                      std::size_t length) {
    const std::uint64_t end =
        std::min<std::uint64_t>(offset + length, file_.bytes);
    if (offset >= end) return {};
    if (offset < begin_ || end > end_) {
      begin_ = offset / kPageBytes * kPageBytes;
      end_ =
          std::min<std::uint64_t>(begin_ + scratch_.span().size(), file_.bytes);
      const auto pages = scratch_.span().first(end_ - begin_);
      if (!ReadPages(volume_, file_, pages, begin_).ok()) {
        end_ = begin_;
        return {};
      }
    }
    return scratch_.span().subspan(offset - begin_, end - offset);
  }

 private:
  Volume& volume_;
  const SegmentFile& file_;
  PageBuffer& scratch_;
  // The bytes of the file that the scratch buffer has.
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;
};

// Returns the locations of a sealed segment's records, from its footer; nullopt
// if it has no valid footer.
std::optional<std::vector<RecordLocation>> ReadFooter(Volume& volume,
                                                      const SegmentFile& file,
                                                      SegmentScan& scan) {
  const auto last_page = scan.Read(file.bytes - kPageBytes, kPageBytes);
  const auto bytes = FooterBytesAt(last_page, file.serial, file.bytes);
  // A damaged footer may name any number of records, so its checksum is
  // compared before memory is taken for it.
  if (!bytes.has_value() ||
      !HasFooterChecksum(last_page, file.bytes,
                         [&scan](std::uint64_t offset, std::size_t length) {
                           return scan.Read(offset, length);
                         }))
    return std::nullopt;
  const PageBuffer footer(*bytes);
  if (!ReadPages(volume, file, footer.span(), file.bytes - *bytes).ok()) {
    return std::nullopt;
  }
  return ParseFooter(footer.span(), file.serial, file.bytes);
}

// Finds the records of a segment by their headers, one after another. A flush
// fills its last page with zeros, so the next record may begin at the next
// page. The scan ends at a page that does not begin with a record.
void ScanRecords(SegmentScan& scan, Recovered* segment) {
  std::uint64_t at = kPageBytes;
  for (;;) {
    const auto header = ParseRecordHeader(scan.Read(at, kMaxRecordHeaderBytes),
                                          segment->file->serial);
    if (!header.has_value()) {
      if (at % kPageBytes == 0) break;
      at = RoundUp(at, kPageBytes);
      continue;
    }
    const std::uint64_t bytes = RecordBytes(header->key);
    if (bytes > segment->file->bytes - at) break;
    segment->locations.push_back({header->fingerprint,
                                  static_cast<std::uint32_t>(at),
                                  static_cast<std::uint32_t>(bytes)});
    at += bytes;
  }
  segment->end = RoundUp(at, kPageBytes);
}

// Opens a segment and finds its records. Returns nullopt if its file or its
// header cannot be read.
std::optional<Recovered> RecoverSegment(Volume& volume, std::uint64_t serial,
                                        PageBuffer& scratch) {
  base::Fd fd(volume.Open(SegmentName(serial)));
  if (!fd) return std::nullopt;
  const std::int64_t bytes = volume.Size(fd.get());
  if (bytes < 0) return std::nullopt;
  Recovered segment;
  segment.file = std::make_shared<const SegmentFile>(
      SegmentFile{std::move(fd), serial, static_cast<std::uint64_t>(bytes)});
  SegmentScan scan(volume, *segment.file, scratch);
  if (!IsSegmentHeader(scan.Read(0, kPageBytes), serial, segment.file->bytes)) {
    return std::nullopt;
  }
  if (auto locations = ReadFooter(volume, *segment.file, scan)) {
    segment.locations = *std::move(locations);
    segment.sealed = true;
  } else {
    ScanRecords(scan, &segment);
  }
  return segment;
}

// Removes the file of a segment, and logs why. A file that cannot be removed is
// an error, because nobody would count its space.
absl::Status Remove(Volume& volume, std::uint64_t serial, const char* why) {
  const std::string name = SegmentName(serial);
  spdlog::warn("the cache's {} {}: it is removed", name, why);
  if (const int error = volume.Remove(name); error < 0) {
    return absl::UnavailableError(absl::StrCat(
        "the cache's ", name, " cannot be removed: ", std::strerror(-error)));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::vector<Recovered>> Recover(Volume& volume,
                                               std::uint64_t capacity) {
  std::vector<std::string> names;
  if (const int error = volume.List(&names); error < 0) {
    return absl::UnavailableError(absl::StrCat(
        "the cache's directory cannot be read: ", std::strerror(-error)));
  }
  std::vector<std::uint64_t> serials;
  for (const std::string& name : names) {
    if (const auto serial = SerialOf(name)) {
      serials.push_back(*serial);
    } else {
      spdlog::warn("{} is not a file of the cache: it is ignored", name);
    }
  }
  std::sort(serials.rbegin(), serials.rend());
  PageBuffer scratch(kScratchBytes);
  std::vector<Recovered> segments;  // newest first
  std::uint64_t used = 0;
  for (const std::uint64_t serial : serials) {
    auto segment = RecoverSegment(volume, serial, scratch);
    if (!segment.has_value() || segment->locations.empty()) {
      FOREBAY_RETURN_IF_ERROR(
          Remove(volume, serial, "holds nothing that can be read"));
    } else if (segment->file->bytes > capacity - used) {
      FOREBAY_RETURN_IF_ERROR(
          Remove(volume, serial, "is more than the cache may hold now"));
    } else {
      used += segment->file->bytes;
      segments.push_back(*std::move(segment));
    }
  }
  std::reverse(segments.begin(), segments.end());
  return segments;
}

}  // namespace forebay::cache::disk
