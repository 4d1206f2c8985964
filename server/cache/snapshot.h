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

// Where the bytes of successful reads came from.
struct Traffic {
  Tally memory;  // hits
  Tally shared;  // joined a read in flight
  Tally disk;    // hits of the disk tier
  Tally source;  // read from the source
  // The part of disk and source that was read ahead. Readers find it in memory
  // later, or join its read, and it counts there too.
  Tally ahead;

  void Add(const Traffic& other) {
    memory.Add(other.memory);
    shared.Add(other.shared);
    disk.Add(other.disk);
    source.Add(other.source);
    ahead.Add(other.ahead);
  }
  // Bytes that no source had to give.
  std::uint64_t bytes_saved() const {
    const std::uint64_t found = memory.bytes + shared.bytes + disk.bytes;
    return found - std::min(found, ahead.bytes);
  }
};

// Variants other than the bytes as read. `entries` and `entry_bytes` are
// current, the others are totals.
struct VariantTally {
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  std::uint64_t made = 0;
  std::uint64_t hits = 0;        // Traffic counts them as memory's, too
  std::int64_t saved_nanos = 0;  // CPU time that the hits saved

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

// The state of a cache at about one moment. Totals count since its creation.
struct Snapshot {
  std::uint64_t capacity = 0;  // bytes
  // Bytes that are cached, being read to be cached, or evicted but still in
  // use.
  std::uint64_t used = 0;
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  VariantTally decoded;  // part of the entries above
  std::uint64_t reads_in_flight = 0;

  Traffic total;
  std::map<std::uint64_t, Traffic> jobs;  // without forgotten jobs
  Tally evicted;
  Tally bypassed;              // read, but not worth caching
  std::uint64_t failures = 0;  // of reads below
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_SNAPSHOT_H_
