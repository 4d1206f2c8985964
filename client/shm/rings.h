#ifndef FOREBAY_CLIENT_SHM_RINGS_H_
#define FOREBAY_CLIENT_SHM_RINGS_H_

#include <cstdint>

#include "client/base/status.h"
#include "proto/fd.h"
#include "proto/shm_ring.h"

namespace forebay::client::shm {

// How a wait ended.
enum class WaitResult { kReady, kTimeout, kInterrupted };

// The client's end of a loader's two rings: takes published entries, pushes
// releases.
//
// One thread at a time takes, and one pushes; any may read the counters. Owns
// the mappings and the eventfd. Only Wait blocks. Errors: named at each method.
class Rings {
 public:
  Rings() = default;
  ~Rings() { Unmap(); }
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;

  // INTERNAL if the descriptors are not rings of this version.
  Status Map(proto::Fd ready, proto::Fd release, proto::Fd event);
  bool mapped() const { return release_ != nullptr; }
  // Gives up everything; only for a forked child and the destructor.
  void Unmap();

  // Whether there is an entry to take.
  bool HasEntry() const;
  // Sleeps until there is an entry, at most `nanos`, and tells the daemon so.
  // Adds the time to the loader's waiting time.
  WaitResult Wait(std::int64_t nanos);
  // Takes the next entry. HasEntry must be true.
  proto::ReadyEntry Take();
  // Entries taken so far, which is also the number of the next.
  std::uint32_t taken() const { return head_; }
  // Why the epoch ended, if the entry taken last was an error.
  Status ReadError() const;

  // Pushes a release without notifying the daemon.
  void Push(proto::Release release) { release_->Push(release); }
  // Tells the daemon that no more entries are taken; releases still may be
  // pushed.
  void Leave();
  // Notifies the daemon, unless it is polling anyway. Any thread.
  void Notify();

  void CountCopy() {
    release_->batches_copied.fetch_add(1, std::memory_order_relaxed);
  }
  std::uint64_t wait_nanos() const { return release_->wait_nanos.load(); }
  std::uint64_t batches_copied() const {
    return release_->batches_copied.load();
  }

 private:
  const proto::ReadyRing* ready_ = nullptr;
  proto::ReleaseRing* release_ = nullptr;
  proto::Fd event_;
  std::uint32_t head_ = 0;
};

}  // namespace forebay::client::shm

#endif  // FOREBAY_CLIENT_SHM_RINGS_H_
