#ifndef FOREBAY_CLIENT_LINK_H_
#define FOREBAY_CLIENT_LINK_H_

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "client/batch.h"
#include "client/fork_handlers.h"
#include "client/rings.h"
#include "client/session.h"
#include "client/slot_map.h"
#include "client/status.h"

namespace forebay::client {

// What a loader and its batches share, and so what outlives the loader while
// batches are held: the session, the rings, the slots and the book of leases.
//
// Fork. Before a fork the pages of every leased slot become private, so that
// parent and child keep what they see. In the child the link is dead: leased
// slots stay mapped until released, which then tells nobody; all else is given
// up.
//
// Take* and *Epoch belong to one thread at a time; the rest is thread-safe.
// Owned by the loader and its batches. Only the session's calls block. Errors:
// named at each method.
class Link final : public std::enable_shared_from_this<Link>,
                   private ForkListener {
 public:
  static std::shared_ptr<Link> Create(std::unique_ptr<Session> session);
  ~Link();

  Session& session() { return *session_; }
  Rings& rings() { return rings_; }

  // FORKED in a child of the process that made it.
  Status CheckAlive() const;
  static Status Forked();

  // Takes the slots of the epoch that starts.
  Status AttachSlots(const std::vector<Fd>& fds, std::uint64_t slot_bytes,
                     std::uint32_t lease_quota);
  // More of them, which were made while it runs.
  Status AddSlots(const std::vector<Fd>& fds);
  std::uint32_t slots() const;
  void DetachSlots();

  // Leases the batch that `entry` announced to the caller; copies it, and
  // releases it at once, if the quota is used up. INTERNAL: it is malformed,
  // and given back; RESOURCE_EXHAUSTED: no memory for the copy.
  Status Lease(const proto::ReadyEntry& entry, forebay_batch** out);
  // Gives the batch that `entry` announced back, unseen.
  void Discard(const proto::ReadyEntry& entry);

  // Ends a batch whose last reference is gone.
  static void Release(forebay_batch* batch);

  // Nothing more is taken: the daemon may take back what was published, but for
  // the batches that are held. The last release ends the session; this does, if
  // none is held.
  void EndWithLastLease();

  std::uint64_t leases() const;

 private:
  explicit Link(std::unique_ptr<Session> session)
      : session_(std::move(session)) {}

  Status TakeLocked(const proto::ReadyEntry& entry, forebay_batch* batch);
  void EndLease(forebay_batch* batch);

  void BeforeFork() override;
  void AfterForkInParent() override;
  void AfterForkInChild() override;

  const std::unique_ptr<Session> session_;
  Rings rings_;
  std::atomic<bool> forked_{false};

  mutable std::mutex mutex_;  // guards all that follows, and pushing
  SlotMap slots_;
  std::set<forebay_batch*> held_;
  std::uint32_t lease_quota_ = 0;
  bool ending_ = false;
};

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_LINK_H_
