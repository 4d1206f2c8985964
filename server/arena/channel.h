#ifndef FOREBAY_SERVER_ARENA_CHANNEL_H_
#define FOREBAY_SERVER_ARENA_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/shm_ring.h"
#include "server/arena/shared_memory.h"
#include "server/base/fd.h"

namespace forebay::arena {

// The state that a client reports of itself, beside its releases. Only the
// client's own batches and figures depend on it.
struct ClientReport {
  bool left = false;  // it takes no more ready entries
  bool waiting = false;
  std::uint32_t taken = 0;  // ready entries
  std::uint64_t wait_nanos = 0;
  std::uint64_t batches_copied = 0;
};

// The daemon's end of one member's ready and release rings.
//
// One thread at a time publishes, and one at a time takes releases; the rest is
// thread-safe. Owns the rings. Does not block. Errors: Create's (see
// SharedMemory).
class Channel {
 public:
  static absl::StatusOr<std::unique_ptr<Channel>> Create();

  // Descriptors for the client.
  int ready_fd() const { return ready_memory_.fd(); }
  int release_fd() const { return release_memory_.fd(); }
  // Readable when the client has pushed releases.
  int event_fd() const { return event_.get(); }

  void Publish(const proto::ReadyEntry& entry) { ready()->Publish(entry); }
  // Publishes the closing entry of an epoch that `error` ended.
  void PublishError(const absl::Status& error, std::uint64_t epoch);
  // Entries published so far.
  std::uint32_t published() const { return ready()->tail.load(); }

  // Tells the client whether the daemon looks for its releases, or waits for
  // event_fd.
  void SetLooking(bool looking) { ready()->looking.store(looking ? 1 : 0); }
  // Acts as if the client had pushed releases.
  void RaiseEvent();
  // Resets event_fd before the releases are taken.
  void ClearEvent();
  // Returns the next release, as the client wrote it, unchecked, or nullopt if
  // there is none.
  std::optional<proto::Release> TakeRelease();
  // Whether the ring's counters were impossible.
  bool corrupt() const { return corrupt_; }

  ClientReport client_report() const;

 private:
  Channel(SharedMemory ready_memory, SharedMemory release_memory,
          base::Fd event)
      : ready_memory_(std::move(ready_memory)),
        release_memory_(std::move(release_memory)),
        event_(std::move(event)) {}

  proto::ReadyRing* ready() const {
    return reinterpret_cast<proto::ReadyRing*>(ready_memory_.data());
  }
  const proto::ReleaseRing* releases() const {
    return reinterpret_cast<const proto::ReleaseRing*>(release_memory_.data());
  }

  const SharedMemory ready_memory_;
  const SharedMemory release_memory_;
  const base::Fd event_;
  std::uint32_t head_ = 0;  // releases taken
  bool corrupt_ = false;
};

}  // namespace forebay::arena

#endif  // FOREBAY_SERVER_ARENA_CHANNEL_H_
