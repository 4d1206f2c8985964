#ifndef FOREBAY_SERVER_CACHE_DISK_DISK_SNAPSHOT_H_
#define FOREBAY_SERVER_CACHE_DISK_DISK_SNAPSHOT_H_

#include <cstdint>

#include "server/cache/cache_snapshot.h"

namespace forebay::cache::disk {

// The state of a tier at about one moment. Totals count since the tier was
// opened.
struct DiskSnapshot {
  // Whether the disk is not used now, because it failed or is slow.
  bool off = false;
  std::uint64_t capacity = 0;  // bytes
  std::uint64_t used = 0;      // bytes of files
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  std::uint64_t waiting = 0;  // bytes of memory that unwritten entries take

  Tally hits;
  Tally misses;   // lookups of bytes that the tier may store
  Tally written;  // records, with their headers
  Tally evicted;
  Tally carried;               // evicted records that were written again
  Tally refused;               // bytes not worth storing, or too many to write
  std::uint64_t damaged = 0;   // entries with wrong content
  std::uint64_t failures = 0;  // failed operations of the disk
};

}  // namespace forebay::cache::disk

#endif  // FOREBAY_SERVER_CACHE_DISK_DISK_SNAPSHOT_H_
