#ifndef FOREBAY_PROTO_SHM_RING_H_
#define FOREBAY_PROTO_SHM_RING_H_

// The two rings between the daemon and one loader of a client, each in a memfd
// of its own.
//
// The daemon writes the ready ring, which the client maps shared and read-only.
// `tail` counts the entries ever published, and is the futex word for which a
// client waits. The entries are batches in order, and a closing entry for each
// epoch: its end, or its error. The daemon never overwrites an entry that the
// client may not have taken. A loader has at most as many batches, taken or
// not, as slots were reserved for it. An epoch starts only if the ring has room
// for the entries of all these batches, for the closing entry, and for all
// entries that are not taken yet.
//
// The client writes the release ring. `tail` counts the releases. The daemon
// reads each release once, and checks it, because it trusts no client. The
// counters beside `tail` are what the client reports.
//
// While the daemon's threads work for this loader, they read the release ring
// between two tasks, and `looking` is 1. While `looking` is 0, the client must
// write the eventfd after a release. The client must also write the eventfd
// when it begins to wait, because the daemon may not know yet how many entries
// the client has taken. Each side first writes its own word and then reads the
// word of the other side, in sequentially consistent order. At least one side
// therefore sees what the other has written.

#include <atomic>
#include <cstdint>

#include "proto/futex.h"
#include "proto/shm_layout.h"

namespace forebay::proto {

inline constexpr std::uint32_t kRingMagic = 0x52594246;  // "FBYR"
inline constexpr std::uint32_t kReadyCapacity = 128;
inline constexpr std::uint32_t kReleaseCapacity = 128;
inline constexpr std::uint32_t kMaxSlots = 256;
inline constexpr std::uint32_t kMaxErrorText = 2048;
inline constexpr std::uint64_t kRingBytes = 8192;

enum class ReadyKind : std::uint32_t {
  kBatch = 1,
  kEndOfEpoch = 2,
  kError = 3,  // error_code and error_text have the reason
};

// An entry of the ready ring. `slot`, `generation` and `sample_count` are those
// of a batch; in other entries they are 0.
struct ReadyEntry {
  ReadyKind kind;
  std::uint32_t slot;
  std::uint32_t generation;
  std::uint32_t reserved;
  std::uint64_t sample_count;
  std::uint64_t epoch;
};
static_assert(sizeof(ReadyEntry) == 32);

// The ready ring, as it lies in its memfd. Fields that different sides write,
// or that are written at different moments, lie on separate cache lines.
struct ReadyRing {
  std::uint32_t magic;
  std::uint32_t version;
  alignas(64) std::atomic<std::uint32_t> tail;
  // 1 if the daemon sees releases without a write to the eventfd, 0 if not.
  std::atomic<std::uint32_t> looking;
  alignas(64) std::uint32_t error_code;  // absl::StatusCode
  char error_text[kMaxErrorText];        // NUL-terminated
  alignas(64) ReadyEntry entries[kReadyCapacity];

  // Makes an entry visible to the client, and wakes it. The daemon calls it, on
  // one thread at a time.
  void Publish(const ReadyEntry& entry);
};
static_assert(sizeof(ReadyRing) <= kRingBytes);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

// A release: the client no longer reads the slot's batch of that generation.
struct Release {
  std::uint32_t slot;
  std::uint32_t generation;
};

// The release ring, as it lies in its memfd.
struct ReleaseRing {
  alignas(64) std::atomic<std::uint32_t> tail;
  // 1 if the client waits for a batch now, 0 if not.
  std::atomic<std::uint32_t> waiting;
  // The number of entries of the ready ring that the client has taken.
  std::atomic<std::uint32_t> taken_count;
  // 1 if the client takes no more entries. The client still pushes releases of
  // batches that it has taken.
  std::atomic<std::uint32_t> left;
  std::atomic<std::uint64_t> wait_nanos;      // time spent waiting, in total
  std::atomic<std::uint64_t> batches_copied;  // handed out as private copies
  // Each word has the slot in its low half and the generation in its high half,
  // so that one load reads both.
  alignas(64) std::atomic<std::uint64_t> entries[kReleaseCapacity];

  // Adds a release. The client calls it, on one thread at a time, and then
  // writes the eventfd unless `looking` is set. The ring cannot overflow,
  // because a slot is released once for each time that it was published.
  void Push(Release release);
  // Takes the release of number `head`, if there is one. The daemon calls it.
  // Returns false if there is none. If the client's tail is impossible, returns
  // false and sets `*corrupt` to true.
  bool Take(std::uint32_t head, Release* release, bool* corrupt) const;
};
static_assert(sizeof(ReleaseRing) <= kRingBytes);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

inline void ReadyRing::Publish(const ReadyEntry& entry) {
  const std::uint32_t t = tail.load(std::memory_order_relaxed);
  entries[t % kReadyCapacity] = entry;
  tail.store(t + 1, std::memory_order_release);
  FutexWakeAll(&tail);
}

inline void ReleaseRing::Push(Release release) {
  const std::uint32_t t = tail.load(std::memory_order_relaxed);
  entries[t % kReleaseCapacity].store(
      static_cast<std::uint64_t>(release.generation) << 32 | release.slot,
      std::memory_order_relaxed);
  tail.store(t + 1, std::memory_order_seq_cst);
}

inline bool ReleaseRing::Take(std::uint32_t head, Release* release,
                              bool* corrupt) const {
  const std::uint32_t t = tail.load(std::memory_order_seq_cst);
  if (t == head) return false;
  if (t - head > kReleaseCapacity) {
    *corrupt = true;
    return false;
  }
  const std::uint64_t word =
      entries[head % kReleaseCapacity].load(std::memory_order_relaxed);
  release->slot = static_cast<std::uint32_t>(word);
  release->generation = static_cast<std::uint32_t>(word >> 32);
  return true;
}

}  // namespace forebay::proto

#endif  // FOREBAY_PROTO_SHM_RING_H_
