#ifndef FOREBAY_CLIENT_CORE_SUBSCRIPTION_H_
#define FOREBAY_CLIENT_CORE_SUBSCRIPTION_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "client/base/fork_handlers.h"
#include "client/base/status.h"
#include "client/core/batch.h"
#include "client/shm/rings.h"
#include "client/shm/slot_map.h"
#include "client/wire/session.h"
#include "proto/fd.h"

namespace forebay::client::core {

// The state that a loader and its batches share: the session, the rings, the
// slots and the leases. It outlives the loader while batches are held.
//
// Before a fork, the pages of every leased slot become private, so that parent
// and child keep their content. In the child, the subscription is dead: leased
// slots stay mapped until released, which then notifies nobody; all else is
// given up.
//
// AttachSlots, AddSlots, DetachSlots, Lease and Discard belong to one thread at
// a time; the rest is thread-safe. The loader and its batches share ownership.
// Only the session's calls block. Errors: named at each method.
class Subscription final : public std::enable_shared_from_this<Subscription>,
                           private ForkListener {
 public:
  static std::shared_ptr<Subscription> Create(
      std::unique_ptr<wire::Session> session);
  ~Subscription();

  wire::Session& session() { return *session_; }
  shm::Rings& rings() { return rings_; }

  // Maps the slots of the epoch that starts.
  Status AttachSlots(const std::vector<proto::Fd>& fds,
                     std::uint64_t slot_bytes, std::uint64_t lease_quota);
  // Maps slots that were added during the epoch.
  Status AddSlots(const std::vector<proto::Fd>& fds);
  std::uint32_t slots() const;
  void DetachSlots();

  // Leases the batch that `entry` announced to the caller. If the quota is used
  // up, copies it instead and releases it at once. INTERNAL if it is malformed:
  // it is then released; RESOURCE_EXHAUSTED if there is no memory for the copy.
  Status Lease(const proto::ReadyEntry& entry, forebay_batch** out);
  // Releases the batch that `entry` announced, unseen.
  void Discard(const proto::ReadyEntry& entry);

  // Ends a batch whose last reference is gone.
  static void Release(forebay_batch* batch);

  // Takes no more batches: the daemon may take back those published, except
  // those held. Ends the session once no batch is held.
  void EndWithLastLease();

  std::uint64_t leases() const;

 private:
  explicit Subscription(std::unique_ptr<wire::Session> session)
      : session_(std::move(session)) {}

  Status TakeLocked(const proto::ReadyEntry& entry, forebay_batch* batch);
  void EndLease(forebay_batch* batch);

  void BeforeFork() override;
  void AfterForkInParent() override;
  void AfterForkInChild() override;

  const std::unique_ptr<wire::Session> session_;
  shm::Rings rings_;
  std::atomic<bool> forked_{false};

  mutable std::mutex mutex_;  // guards the rest, and pushing
  shm::SlotMap slots_;
  std::set<forebay_batch*> held_;
  std::uint64_t lease_quota_ = 0;
  bool ending_ = false;
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_SUBSCRIPTION_H_
