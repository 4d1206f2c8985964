#ifndef FOREBAY_SERVER_CACHE_DISK_RECOVERY_H_
#define FOREBAY_SERVER_CACHE_DISK_RECOVERY_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "server/cache/disk/segment_file.h"
#include "server/cache/disk/segment_format.h"
#include "server/cache/disk/volume.h"

namespace forebay::cache::disk {

// A segment as it was found.
struct Recovered {
  std::shared_ptr<const SegmentFile> file;
  std::vector<RecordLocation> locations;
  bool sealed = false;
  // If not sealed: where a writer continues, at a page boundary.
  std::uint64_t end = 0;
};

// Returns the segments that an earlier daemon left on the volume, the oldest
// first, of at most `capacity` bytes. Removes damaged segments, and the oldest
// that exceed the capacity. Finds the records of sealed segments by their
// footers, of others by the records' headers. Ignores other files. Logs what it
// removes and ignores. Blocks for the disk. Returns UNAVAILABLE if it cannot
// list the volume or remove a segment.
absl::StatusOr<std::vector<Recovered>> Recover(Volume& volume,
                                               std::uint64_t capacity);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_RECOVERY_H_
