#ifndef FOREBAY_CLIENT_SHM_RINGS_H_
#define FOREBAY_CLIENT_SHM_RINGS_H_

#include <cstdint>

#include "client/base/status.h"
#include "proto/fd.h"
#include "proto/shm_ring.h"

namespace forebay::client::shm {

// The reason why a wait ended.
enum class WaitResult { kReady, kTimeout, kInterrupted };

// The client's end of a loader's two rings (proto/shm_ring.h): takes published
// entries, and pushes releases.
//
// One thread at a time may take entries, and one at a time may push releases.
// Any thread may read the counters. Owns the mappings and the eventfd. Only
// Wait blocks. Errors: named at each method.
class Rings {
 public:
  Rings() = default;
  ~Rings() { Unmap(); }
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;

  // Maps both rings, and keeps the eventfd that wakes the daemon. INTERNAL if
  // the descriptors are not rings of this version.
  Status Map(proto::Fd ready, proto::Fd release, proto::Fd event);
  bool mapped() const { return release_ != nullptr; }
  // Unmaps both rings and closes the eventfd. Only for a forked child and the
  // destructor.
  void Unmap();

  // Whether there is an entry to take.
  bool HasEntry() const;
  // Sleeps until there is an entry, at most `nanos` nanoseconds, and tells the
  // daemon that the client waits. Adds the time to the loader's waiting time.
  WaitResult Wait(std::int64_t nanos);
  // Takes the next entry. HasEntry must be true.
  proto::ReadyEntry Take();
  // Returns the number of entries taken so far, modulo 2^32. The next entry has
  // this number.
  std::uint32_t taken_count() const { return head_; }
  // Returns why the epoch ended, if the entry taken last was an error.
  Status ReadError() const;

  // Pushes a release without notifying the daemon.
  void Push(proto::Release release) { release_->Push(release); }
  // Tells the daemon that the client takes no more entries. Releases may still
  // be pushed.
  void Leave();
  // Wakes the daemon by the eventfd, unless the daemon reads the release ring
  // by itself (`looking`). Any thread.
  void Notify();

  // Counts a batch that was handed out as a private copy.
  void CountCopy() {
    release_->batches_copied.fetch_add(1, std::memory_order_relaxed);
  }
  // Returns the nanoseconds for which Wait has slept.
  std::uint64_t wait_nanos() const { return release_->wait_nanos.load(); }
  std::uint64_t batches_copied() const {
    return release_->batches_copied.load();
  }

 private:
  const proto::ReadyRing* ready_ = nullptr;  // mapped read-only
  proto::ReleaseRing* release_ = nullptr;
  proto::Fd event_;         // the eventfd that wakes the daemon
  std::uint32_t head_ = 0;  // entries taken
};

}  // namespace forebay::client::shm

#endif  // FOREBAY_CLIENT_SHM_RINGS_H_
