#ifndef FOREBAY_SERVER_CACHE_DISK_SNAPSHOT_H_
#define FOREBAY_SERVER_CACHE_DISK_SNAPSHOT_H_

#include <cstdint>

#include "server/cache/snapshot.h"

namespace forebay::cache::disk {

// The state of a tier at about one moment. Totals count since it was opened.
struct Snapshot {
  bool off = false;  // the disk failed or is slow, and is not used now
  std::uint64_t capacity = 0;  // bytes
  std::uint64_t used = 0;      // of files
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  std::uint64_t waiting = 0;  // bytes of memory of entries to be written

  Tally hits;
  Tally misses;  // of bytes that the tier may store
  Tally written;
  Tally evicted;
  Tally carried;               // of these: written again
  Tally refused;               // not worth it, or more than can be written
  std::uint64_t damaged = 0;   // entries with wrong content
  std::uint64_t failures = 0;  // of the disk
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_SNAPSHOT_H_
