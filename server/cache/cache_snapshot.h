#ifndef FOREBAY_SERVER_CACHE_CACHE_SNAPSHOT_H_
#define FOREBAY_SERVER_CACHE_CACHE_SNAPSHOT_H_

#include <algorithm>
#include <cstdint>
#include <map>

namespace forebay::cache {

// A number of reads (or entries), and the sum of their bytes.
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
  Tally memory;  // hits of this cache
  Tally shared;  // reads that joined a read in flight
  Tally disk;    // hits of the disk tier
  Tally source;  // reads from the source below all tiers
  // The part of `disk` and `source` that was read ahead. A reader that uses
  // these bytes later counts in `memory`, or in `shared` if it joins the read.
  Tally ahead;

  void Add(const Traffic& other) {
    memory.Add(other.memory);
    shared.Add(other.shared);
    disk.Add(other.disk);
    source.Add(other.source);
    ahead.Add(other.ahead);
  }
  // Returns the number of bytes that readers got without a read from the
  // source. Bytes read ahead are subtracted: the later hit of such bytes saved
  // no read.
  std::uint64_t bytes_saved() const {
    const std::uint64_t found = memory.bytes + shared.bytes + disk.bytes;
    return found - std::min(found, ahead.bytes);
  }
};

// Counts of the variants other than kEncoded (the bytes as read). `entries` and
// `entry_bytes` are current values, the other members are totals.
struct VariantTally {
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  std::uint64_t made = 0;        // variants that were cached
  std::uint64_t hits = 0;        // counted in Traffic::memory, too
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

// The state of a cache at about one moment. Totals count from the cache's
// creation.
struct CacheSnapshot {
  std::uint64_t capacity = 0;  // bytes
  // Bytes that are cached, being read to be cached, or evicted but still in
  // use.
  std::uint64_t used = 0;
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  VariantTally decoded;  // part of the entries above
  std::uint64_t reads_in_flight = 0;

  Traffic total;
  std::map<std::uint64_t, Traffic> jobs;  // by job, without forgotten jobs
  Tally evicted;                          // entries that gave way to others
  Tally bypassed;              // bytes that were read, but not worth caching
  std::uint64_t failures = 0;  // failed reads below
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_CACHE_SNAPSHOT_H_
