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

// Fills one segment by large sequential writes. Appended records can be read
// after Flush.
//
// Not thread-safe. Owned by the caller; the volume and the buffer outlive it.
// Append, Flush and Seal block for the disk. They return UNAVAILABLE if it
// fails. After a failure, do not write to the segment; what was flushed before
// remains valid.
class SegmentWriter {
 public:
  // Continues after `locations`, which end at `end`, a page boundary. In a new
  // segment (`end` is 0) it writes the header first.
  SegmentWriter(Volume* volume, std::shared_ptr<const SegmentFile> file,
                const PageBuffer* buffer, std::vector<RecordLocation> locations,
                std::uint64_t end);

  const std::shared_ptr<const SegmentFile>& file() const { return file_; }
  // Returns whether one more record of so many bytes leaves space for the
  // footer.
  bool HasSpace(std::uint64_t record_bytes) const;
  // Returns whether there is space for a record and, after it was flushed, for
  // the next one.
  bool HasSpace(std::uint64_t record_bytes, std::uint64_t next_bytes) const;
  std::size_t records() const { return locations_.size(); }

  // The record must fit (HasSpace).
  absl::Status Append(const Key& key, absl::Span<const std::uint8_t> data);
  // Returns the locations of all records since the last Flush. They are on the
  // disk.
  absl::StatusOr<absl::Span<const RecordLocation>> Flush();
  // Writes the footer after a Flush. The last call.
  absl::Status Seal();

 private:
  std::uint64_t end() const { return flushed_ + filled_; }
  absl::Status Put(absl::Span<const std::uint8_t> bytes);
  absl::Status WriteBuffer();

  Volume* const volume_;
  const std::shared_ptr<const SegmentFile> file_;
  const PageBuffer* const buffer_;
  std::vector<RecordLocation> locations_;
  std::size_t locations_flushed_;
  std::uint64_t flushed_;   // of the file; whole pages
  std::size_t filled_ = 0;  // of the buffer
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_WRITER_H_
