#ifndef FOREBAY_SERVER_SLOTS_CHANNEL_H_
#define FOREBAY_SERVER_SLOTS_CHANNEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "proto/shm_ring.h"
#include "server/base/fd.h"
#include "server/slots/shared_memory.h"

namespace forebay::slots {

// The figures that a client last wrote about itself into its release ring,
// beside the releases. They are unchecked: only the client's own batches and
// statistics may depend on them.
struct ClientReport {
  // Whether the client takes no more ready entries. The client may still
  // release slots.
  bool left = false;
  // Whether the client waits for a batch at this moment.
  bool waiting = false;
  // The number of entries of the ready ring that the client has taken so far;
  // wraps at 2^32.
  std::uint32_t taken_count = 0;
  // The time that the client has spent waiting for batches, in total.
  std::uint64_t wait_nanos = 0;
  // The number of batches that the client handed out as private copies.
  std::uint64_t batches_copied = 0;
};

// The daemon's end of one member's ready and release rings (proto/shm_ring.h).
//
// One thread at a time publishes, and one thread at a time takes releases; all
// other methods are thread-safe. Owns both rings and the eventfd. Never blocks.
// Errors: Create fails as SharedMemory::Create does, or with the error of
// eventfd(2).
class Channel {
 public:
  static absl::StatusOr<std::unique_ptr<Channel>> Create();

  // Descriptors of the two rings, to be sent to the client. The Channel keeps
  // its own.
  int ready_fd() const { return ready_memory_.fd(); }
  int release_fd() const { return release_memory_.fd(); }
  // An eventfd that becomes readable when the client has pushed releases while
  // the daemon was not looking.
  int event_fd() const { return event_.get(); }

  void Publish(const proto::ReadyEntry& entry) { ready()->Publish(entry); }
  // Publishes the closing entry of an epoch that `error` ended. The message is
  // cut to proto::kMaxErrorText - 1 bytes.
  void PublishError(const absl::Status& error, std::uint64_t epoch);
  // Returns how many entries were ever published; wraps at 2^32.
  std::uint32_t published() const { return ready()->tail.load(); }

  // Tells the client whether the daemon looks into the release ring by itself.
  // If not, the client must write event_fd() after each release.
  void SetLooking(bool looking) { ready()->looking.store(looking ? 1 : 0); }
  // Makes event_fd() readable, as a client's write would.
  void RaiseEvent();
  // Resets event_fd(). The caller does so before it takes the releases: a
  // release pushed later raises the event again and is not lost.
  void ClearEvent();
  // Returns the next release, or nullopt if there is none. Slot and generation
  // are unchecked: the client may have written any numbers.
  std::optional<proto::Release> TakeRelease();
  // Whether the client's tail was ever more than a ring's capacity ahead. If
  // so, no further release is taken.
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
  // The number of releases taken so far, modulo 2^32.
  std::uint32_t head_ = 0;
  bool corrupt_ = false;
};

}  // namespace forebay::slots

#endif  // FOREBAY_SERVER_SLOTS_CHANNEL_H_
