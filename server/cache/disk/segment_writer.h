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

// Fills one segment, in large writes one behind the other. What was appended
// can be read once it was flushed.
//
// Not thread-safe. The caller owns it; the volume and the buffer outlive it.
// Append, Flush and Seal block for the disk. Errors: UNAVAILABLE; the segment
// is then to be left as it is, what was flushed before is good.
class SegmentWriter {
 public:
  // Goes on behind `places`, which end at `end`, a whole page: where nothing is
  // written yet, there are none, and it writes the head first.
  SegmentWriter(Volume* volume, std::shared_ptr<const SegmentFile> file,
                const PageBuffer* buffer, std::vector<RecordLocation> places,
                std::uint64_t end);

  const std::shared_ptr<const SegmentFile>& file() const { return file_; }
  // Whether one more record of so many bytes leaves room for the footer.
  bool HasRoom(std::uint64_t record_bytes) const;
  // Whether there is room for a record, and, once that was flushed, for the
  // next one.
  bool HasRoom(std::uint64_t record_bytes, std::uint64_t next_bytes) const;
  std::size_t records() const { return places_.size(); }

  // HasRoom for it.
  absl::Status Append(const Key& key, absl::Span<const std::uint8_t> data);
  // All that was appended since the last one is on the disk.
  absl::StatusOr<absl::Span<const RecordLocation>> Flush();
  // Writes the footer behind all that was flushed. The last call.
  absl::Status Seal();

 private:
  std::uint64_t end() const { return flushed_ + filled_; }
  absl::Status Put(absl::Span<const std::uint8_t> bytes);
  absl::Status WriteBuffer();

  Volume* const volume_;
  const std::shared_ptr<const SegmentFile> file_;
  const PageBuffer* const buffer_;
  std::vector<RecordLocation> places_;
  std::size_t places_flushed_;
  std::uint64_t flushed_;   // of the file: whole pages
  std::size_t filled_ = 0;  // of the buffer
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SEGMENT_WRITER_H_
