#ifndef FOREBAY_PROTO_SHM_RING_H_
#define FOREBAY_PROTO_SHM_RING_H_

// The two rings between the daemon and one loader of a client, each in a memfd
// of its own.
//
// Ready ring: written by the daemon, mapped shared and read-only by the client.
// `tail` counts the entries ever published and is the futex word that a waiting
// client sleeps on. Entries are batches in order, and one closing entry an
// epoch: its end, or its error. The daemon never overwrites an entry that may
// not have been taken: the loader has at most so many batches, taken or not, as
// slots were reserved for it, and no epoch starts unless all those and its
// closing entry have room beside what is not taken yet.
//
// Release ring: written by the client. `tail` counts the releases; the daemon
// takes each word once and believes none of them. The counters beside it are
// what the client says of itself.
//
// A daemon that is at work for this loader looks into the release ring between
// two pieces of it, and says so in `looking`; one that is not must be told by
// the eventfd of releases, and when the client begins to wait, for it prepares
// no more than what it has seen to be taken. Either side first writes its own
// word and then reads the other's, in sequential order, so that nothing is
// overlooked.

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
  kError = 3,  // error_code and error_text hold its reason
};

struct ReadyEntry {
  ReadyKind kind;
  std::uint32_t slot;
  std::uint32_t generation;
  std::uint32_t reserved;
  std::uint64_t sample_count;
  std::uint64_t epoch;
};
static_assert(sizeof(ReadyEntry) == 32);

struct ReadyRing {
  std::uint32_t magic;
  std::uint32_t version;
  alignas(64) std::atomic<std::uint32_t> tail;
  // 1: what the client does is seen without a write to the eventfd; 0: it is
  // not.
  std::atomic<std::uint32_t> looking;
  alignas(64) std::uint32_t error_code;  // absl::StatusCode
  char error_text[kMaxErrorText];        // NUL-terminated
  alignas(64) ReadyEntry entries[kReadyCapacity];

  // Daemon: the entry becomes visible to the client; wakes it. One thread at a
  // time.
  void Publish(const ReadyEntry& entry);
};
static_assert(sizeof(ReadyRing) <= kRingBytes);
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

struct Release {
  std::uint32_t slot;
  std::uint32_t generation;
};

struct ReleaseRing {
  alignas(64) std::atomic<std::uint32_t> tail;
  // The client waits for a batch now (1) or not (0).
  std::atomic<std::uint32_t> waiting;
  // Entries of the ready ring that the client has taken.
  std::atomic<std::uint32_t> taken;
  // 1: the client takes no more of them. Releases of what it took still come.
  std::atomic<std::uint32_t> left;
  std::atomic<std::uint64_t> wait_nanos;      // time spent waiting, in total
  std::atomic<std::uint64_t> batches_copied;  // handed out as private copies
  // Slot in the low half, generation in the high half: one word, loaded once.
  alignas(64) std::atomic<std::uint64_t> entries[kReleaseCapacity];

  // Client: the slot is no longer read. One thread at a time; the caller then
  // writes the eventfd, unless the daemon is looking. Never overruns: a slot is
  // released once for each time that it was published.
  void Push(Release release);

  // Daemon: takes the release numbered `head` if there is one. False also when
  // the client's tail is absurd; `*corrupt` then becomes true.
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
