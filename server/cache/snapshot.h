#ifndef FOREBAY_SERVER_CACHE_SNAPSHOT_H_
#define FOREBAY_SERVER_CACHE_SNAPSHOT_H_

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

  void Add(const Traffic& other) {
    memory.Add(other.memory);
    shared.Add(other.shared);
    disk.Add(other.disk);
    source.Add(other.source);
  }
  // What no source had to give.
  std::uint64_t bytes_saved() const {
    return memory.bytes + shared.bytes + disk.bytes;
  }
};

// All of a cache at about one moment; totals count since it was made.
struct Snapshot {
  std::uint64_t capacity = 0;  // bytes
  // Bytes kept, being read to be kept, or let go of but still in use.
  std::uint64_t used = 0;
  std::uint64_t entries = 0;
  std::uint64_t entry_bytes = 0;
  std::uint64_t reads_in_flight = 0;

  Traffic total;
  std::map<std::uint64_t, Traffic> jobs;  // that were not forgotten
  Tally evicted;
  Tally bypassed;              // read, but not worth keeping
  std::uint64_t failures = 0;  // reads below that failed
};

}  // namespace forebay::cache

#endif  // FOREBAY_SERVER_CACHE_SNAPSHOT_H_
