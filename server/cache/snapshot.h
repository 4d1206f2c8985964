#ifndef FOREBAY_SERVER_CACHE_SNAPSHOT_H_
#define FOREBAY_SERVER_CACHE_SNAPSHOT_H_

#include <algorithm>
#include <cstdint>
#include <map>

namespace forebay::cache {

struct Tally {
  std::uint64_t reads = 0;
  std::uint64_t bytes = 0;

  void Add(std::uint64_t length) {
    ++reads;
    bytes += length;
  }
  void Remove(std::uint64_t length) {
    --reads;
    bytes -= length;
  }
  void Add(const Tally& other) {
    reads += other.reads;
    bytes += other.bytes;
  }
};

// Where the bytes of reads that went well came from.
struct Traffic {
  Tally memory;  // hits
  Tally shared;  // waited for a read that another had begun
  Tally disk;    // hits of the tier below
  Tally source;  // read
  // Of disk and source, what was read before anybody wanted it. It is found in
  // memory later, or waited for, and counted there too.
  Tally ahead;

  void Add(const Traffic& other) {
    memory.Add(other.memory);
    shared.Add(other.shared);
    disk.Add(other.disk);
    source.Add(other.source);
    ahead.Add(other.ahead);
  }
  // What no source had to give.
  std::uint64_t bytes_saved() const {
    const std::uint64_t found = memory.bytes + shared.bytes + disk.bytes;
    return found - std::min(found, ahead.bytes);
  }
};

// Forms of what was read other than the bytes themselves. `entries` and
// `entry_bytes` are of now, the rest are totals.
struct VariantTally {
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  std::uint64_t made = 0;
  std::uint64_t hits = 0;        // those that Traffic counts as memory's
  std::int64_t saved_nanos = 0;  // CPU time that these hits saved

  void Add(std::uint64_t bytes) {
    ++entries;
    entry_bytes += bytes;
  }
  void Remove(std::uint64_t bytes) {
    --entries;
    entry_bytes -= bytes;
  }
  void AddHit(std::int64_t nanos) {
    ++hits;
    saved_nanos += nanos;
  }
  void RemoveHit(std::int64_t nanos) {
    --hits;
    saved_nanos -= nanos;
  }
  void Add(const VariantTally& other) {
    entries += other.entries;
    entry_bytes += other.entry_bytes;
    made += other.made;
    hits += other.hits;
    saved_nanos += other.saved_nanos;
  }
};

// All of a cache at about one moment; totals count since it was made.
struct Snapshot {
  std::uint64_t capacity = 0;  // bytes
  // Bytes kept, being read to be kept, or let go of but still in use.
  std::uint64_t used = 0;
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  VariantTally decoded;  // of these entries
  std::uint64_t reads_in_flight = 0;

  Traffic total;
  std::map<std::uint64_t, Traffic> jobs;  // that were not forgotten
  Tally evicted;
  Tally bypassed;              // read, but not worth keeping
  std::uint64_t failures = 0;  // reads below that failed
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_SNAPSHOT_H_
