#ifndef FOREBAY_SERVER_CACHE_DISK_SEGMENT_WRITER_H_
#define FOREBAY_SERVER_CACHE_DISK_SEGMENT_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/cache/disk/record.h"
#include "server/cache/disk/segment_file.h"
#include "server/cache/disk/segment_format.h"
#include "server/cache/disk/volume.h"

namespace forebay::cache::disk {

// Fills one segment by large sequential writes. Records that were appended can
// be read after Flush.
//
// Not thread-safe. The caller owns it; the volume and the buffer outlive it.
// Append, Flush and Seal block for the disk. They return UNAVAILABLE if the
// disk fails. After a failure, write no more to the segment; the records that
// were flushed before remain valid.
class SegmentWriter {
 public:
  // Continues a segment after the records at `locations`, the last of which
  // ends at or before `end`, a page boundary. If `end` is 0, the segment is new
  // and gets its header first.
  SegmentWriter(Volume* volume, std::shared_ptr<const SegmentFile> file,
                const PageBuffer* buffer, std::vector<RecordLocation> locations,
                std::uint64_t end);

  const std::shared_ptr<const SegmentFile>& file() const { return file_; }
  // Returns whether the segment has space for one more record of `record_bytes`
  // bytes, and the footer.
  bool HasSpace(std::uint64_t record_bytes) const;
  // Returns whether there is space for a record, a flush, a record of
  // `next_bytes` bytes, and the footer, in this order.
  bool HasSpace(std::uint64_t record_bytes, std::uint64_t next_bytes) const;
  std::size_t records() const { return locations_.size(); }

  // Appends a record, for which there is space (HasSpace).
  absl::Status Append(const Key& key, absl::Span<const std::uint8_t> data);
  // Writes what was appended. Returns the locations of the records that were
  // appended since the last Flush; they can be read now.
  absl::StatusOr<absl::Span<const RecordLocation>> Flush();
  // Writes the footer, and waits until the segment would survive a loss of
  // power. Call it last, after a Flush.
  absl::Status Seal();

 private:
  // Returns the offset in the file at which the next bytes go.
  std::uint64_t end() const { return flushed_ + filled_; }
  // Appends bytes to the buffer, writing it whenever it is full.
  absl::Status Put(absl::Span<const std::uint8_t> bytes);
  // Writes the filled part of the buffer, which is whole pages.
  absl::Status WriteBuffer();

  Volume* const volume_;
  const std::shared_ptr<const SegmentFile> file_;
  const PageBuffer* const buffer_;
  std::vector<RecordLocation> locations_;
  std::size_t locations_flushed_;  // how many of `locations_` are flushed
  std::uint64_t flushed_;          // bytes of the file; whole pages
  std::size_t filled_ = 0;         // bytes of the buffer
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_WRITER_H_
