#ifndef FOREBAY_SERVER_CACHE_DISK_SNAPSHOT_H_
#define FOREBAY_SERVER_CACHE_DISK_SNAPSHOT_H_

#include <cstdint>

#include "server/cache/snapshot.h"

namespace forebay::cache::disk {

// All of a tier at about one moment; totals count since it was opened.
struct Snapshot {
  bool off = false;            // the disk failed, and is left alone for now
  std::uint64_t capacity = 0;  // bytes
  std::uint64_t used = 0;      // of files
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  std::uint64_t waiting = 0;  // bytes of memory held to be written

  Tally hits;
  Tally misses;  // that the tier could have had
  Tally written;
  Tally evicted;
  Tally carried;               // of these: written once more
  Tally refused;               // not worth it, or more than can be written
  std::uint64_t damaged = 0;   // entries that were not what they should be
  std::uint64_t failures = 0;  // of the disk
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SNAPSHOT_H_
