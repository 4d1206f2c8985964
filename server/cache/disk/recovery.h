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
  std::vector<RecordLocation> places;
  bool sealed = false;
  // Where a writer may go on if it is not sealed: a whole page.
  std::uint64_t end = 0;
};

// What an earlier daemon left on the volume, the oldest first, of at most
// `capacity` bytes: segments that are damaged, or are too much, are removed,
// the oldest first. Sealed ones are taken by their footers, of others the
// records' fronts are read. Files that are none of ours are left alone. Says
// all of that in the log. Blocks for the disk. UNAVAILABLE: the volume cannot
// be listed, or what is to go cannot be removed.
absl::StatusOr<std::vector<Recovered>> Recover(Volume& volume,
                                               std::uint64_t capacity);

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_RECOVERY_H_
