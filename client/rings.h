#ifndef FOREBAY_CLIENT_RINGS_H_
#define FOREBAY_CLIENT_RINGS_H_

#include <cstdint>

#include "client/fd.h"
#include "client/status.h"
#include "proto/shm_ring.h"

namespace forebay::client {

// How a wait ended.
enum class WaitResult { kReady, kTimeout, kInterrupted };

// The client's end of a loader's two rings: takes what was published, pushes
// what is released.
//
// Taking belongs to one thread at a time, and so does pushing; the counters are
// free. Owns mappings and the eventfd. Only Wait blocks. Errors: Map's own.
class Rings {
 public:
  Rings() = default;
  ~Rings() { Unmap(); }
  Rings(const Rings&) = delete;
  Rings& operator=(const Rings&) = delete;

  // INTERNAL if the descriptors are not rings of this version.
  Status Map(Fd ready, Fd release, Fd event);
  bool mapped() const { return release_ != nullptr; }
  // Gives everything up; only for a forked child and the destructor.
  void Unmap();

  // Whether an entry is there to be taken.
  bool HasEntry() const;
  // Sleeps until there is one, at most `nanos`, and lets the daemon know; what
  // it slept is added to the loader's waiting time.
  WaitResult Wait(std::int64_t nanos);
  // The next entry; only if HasEntry.
  proto::ReadyEntry Take();
  // Entries taken so far, and so the number of the next.
  std::uint32_t taken() const { return head_; }
  // Why the epoch ended, when the entry taken last was an error.
  Status ReadError() const;

  // Pushes a release without telling anyone.
  void Push(proto::Release release) { release_->Push(release); }
  // No more entries are taken; releases may still be pushed.
  void Leave();
  // Tells the daemon that there is news, unless it looks for that. Any thread.
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
  Fd event_;
  std::uint32_t head_ = 0;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_RINGS_H_
