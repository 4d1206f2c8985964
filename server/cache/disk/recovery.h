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

// A segment as an earlier daemon left it.
struct Recovered {
  std::shared_ptr<const SegmentFile> file;
  std::vector<RecordLocation> locations;
  bool sealed = false;  // whether it has a footer
  // The offset at which a writer continues a segment that is not sealed: a page
  // boundary.
  std::uint64_t end = 0;
};

// Returns the segments that an earlier daemon left on the volume, the oldest
// first. Removes damaged segments, and the oldest ones if all together exceed
// `capacity` bytes. A sealed segment's records are found by its footer; other
// records are found by their headers. Files that are not segments are ignored.
// Logs what it removes and ignores.
//
// Call it before other threads use the volume. Blocks for the disk.
// UNAVAILABLE: the volume cannot be listed, or a segment cannot be removed.
absl::StatusOr<std::vector<Recovered>> Recover(Volume& volume,
                                               std::uint64_t capacity);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_RECOVERY_H_
