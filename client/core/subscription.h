#ifndef FOREBAY_CLIENT_CORE_SUBSCRIPTION_H_
#define FOREBAY_CLIENT_CORE_SUBSCRIPTION_H_

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "client/base/fork_handlers.h"
#include "client/base/status.h"
#include "client/core/batch.h"
#include "client/core/image_tail.h"
#include "client/device/gpu.h"
#include "client/shm/rings.h"
#include "client/shm/slot_map.h"
#include "client/wire/session.h"
#include "proto/fd.h"

namespace forebay::client::core {

// The state that a loader and its batches share: the session, the rings, the
// slots and the leases. The subscription outlives the loader while batches are
// held.
//
// Before a fork, all pages of leased slots become private, so that parent and
// child keep the pages' content. In the child, leased slots stay mapped until
// they are released, and a release notifies nobody. The child gives up
// everything except leased slots at once.
//
// The lease of a batch on a GPU ends when all queued copies of its fields have
// been made. A thread of the CUDA driver then calls OnStreamDone, which locks
// mutex_ and must not use CUDA. This class therefore calls no CUDA function
// while it holds mutex_: the function might wait for that thread. CUDA must
// also free the batch's memory, so a later call of one of the user's threads
// does that.
//
// LieOn, AttachSlots, AddSlots, DetachSlots, Lease, Discard and CheckDevice
// belong to one thread at a time; the other methods are thread-safe. The loader
// and its batches share ownership. Calls that send requests block as
// wire::Session does. Calls that import or free memory of a GPU block for the
// GPU's driver. EndWithLastLease waits for the GPU's streams, at most 2 s.
// Errors: named at each method.
class Subscription final : public std::enable_shared_from_this<Subscription>,
                           private ForkListener {
 public:
  static std::shared_ptr<Subscription> Create(
      std::unique_ptr<wire::Session> session);
  ~Subscription();

  wire::Session& session() { return *session_; }
  shm::Rings& rings() { return rings_; }

  // Tells the subscription that each slot has a part of `device_bytes` bytes on
  // `gpu`, and that images there need `tail`. Must be called before
  // AttachSlots.
  void LieOn(std::shared_ptr<device::Gpu> gpu, const ImageTail& tail,
             std::uint64_t device_bytes);
  // Whether batches lie on `gpu`.
  bool LiesOn(const device::Gpu& gpu) const {
    return gpu_ != nullptr && gpu_->uuid() == gpu.uuid();
  }
  // Returns the number of descriptors of each slot: one for the part on the
  // host, and one for the part on the GPU if batches lie there.
  std::size_t parts() const { return gpu_ == nullptr ? 1 : 2; }
  // Checks that the GPU works. Called before a batch is taken. INTERNAL: the
  // GPU is lost; leases that waited for it have ended. RESOURCE_EXHAUSTED: the
  // user holds as many batches as the quota allows. Does nothing for batches on
  // the host.
  Status CheckDevice();

  // Maps the slots of the epoch that starts. `fds`: parts() descriptors for
  // each slot. `lease_quota`: the most batches that may be leased at once.
  Status AttachSlots(const std::vector<proto::Fd>& fds,
                     std::uint64_t slot_bytes, std::uint64_t lease_quota);
  // Maps slots that were added during the epoch.
  Status AddSlots(const std::vector<proto::Fd>& fds);
  std::uint32_t slots() const;
  void DetachSlots();

  // Leases the batch that `entry` announced to the caller. If the quota is used
  // up and the batch lies on the host, copies the batch and releases it at
  // once. INTERNAL: the batch is malformed, and was released.
  // RESOURCE_EXHAUSTED if there is no memory for the copy.
  Status Lease(const proto::ReadyEntry& entry, forebay_batch** out);
  // Releases the batch that `entry` announced, without reading it.
  void Discard(const proto::ReadyEntry& entry);

  // Queues the copy of a field of a batch on a GPU: see forebay_batch_put.
  static Status Put(forebay_batch& batch, std::uint32_t index, void* to,
                    void* stream);
  // Queues the copy of a part of a field: see forebay_batch_put_part.
  static Status PutPart(forebay_batch& batch, std::uint32_t index,
                        std::uint64_t offset, std::uint64_t bytes, void* to,
                        void* stream);
  // Ends a batch whose last reference is gone.
  static void Release(forebay_batch* batch);

  // Tells the daemon that this client takes no more batches. The daemon may
  // then take back all published batches that are not held. Ends the session
  // once no batch is held.
  void EndWithLastLease();

  // Returns the number of leases on slots that this process holds.
  std::uint64_t leases() const;

 private:
  explicit Subscription(std::unique_ptr<wire::Session> session)
      : session_(std::move(session)) {}

  using Parts = std::vector<std::shared_ptr<device::ImportedMemory>>;
  // A released batch, and one of the streams that its lease waits for.
  struct Awaited {
    forebay_batch* batch;
    void* stream;
  };

  // Moves the descriptors of the slots' parts on the host to *hosts, and
  // imports the parts on the GPU into *parts.
  Status Import(const std::vector<proto::Fd>& fds,
                std::vector<proto::Fd>* hosts, Parts* parts);
  // Checks that fields of the batch can be copied to `to` on the stream. Makes
  // the lease last until the stream has done the work that is queued next.
  static Status BeginPut(forebay_batch& batch, const void* to, void* stream);
  // Fills in a batch from its slot, and adds it to held_.
  Status TakeLocked(const proto::ReadyEntry& entry, forebay_batch* batch);
  // Tells the daemon that the batch's slot is no longer read.
  void EndLease(forebay_batch* batch);
  // Ends the lease once the batch's streams have done the work queued on them.
  void ReleaseAfterStreams(forebay_batch* batch);
  // Asks the driver to call OnStreamDone after the stream's work. If the driver
  // refuses, Collect asks again.
  Status CallAfter(const Awaited& awaited);
  // Ends the lease of a forebay_batch after the last of its streams. A thread
  // of the driver's calls it.
  static void OnStreamDone(void* batch);
  // Frees the released batches, of any subscription, whose streams are done.
  // Calls CallAfter again for each entry of owed_.
  void Collect();
  // Ends the leases that wait for streams of a lost GPU, whose work is never
  // done.
  void ReleaseLost();
  // Waits up to 2 s for the streams of all released batches.
  void AwaitStreams();

  void BeforeFork() override;
  void AfterForkInParent() override;
  void AfterForkInChild() override;

  const std::unique_ptr<wire::Session> session_;
  shm::Rings rings_;
  std::atomic<bool> forked_{false};
  std::shared_ptr<device::Gpu> gpu_;  // null: batches lie on the host
  ImageTail tail_;
  std::uint64_t device_bytes_ = 0;

  // Guards the fields below, and the pushes to the release ring.
  mutable std::mutex mutex_;
  std::condition_variable stream_done_;
  shm::SlotMap slots_;
  Parts parts_;  // the slots' parts on the GPU, in the slots' order
  // The number of batches in held_ that were released and wait for streams.
  std::uint64_t awaiting_ = 0;
  std::vector<Awaited> owed_;      // batches for which CallAfter failed
  Status owed_error_;              // the error of the last such failure
  int owed_tries_ = 0;             // calls of Collect in a row that failed
  std::set<forebay_batch*> held_;  // batches that lease a slot
  std::uint64_t lease_quota_ = 0;  // the most batches in held_ at once
  bool ending_ = false;            // EndWithLastLease has been called
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_SUBSCRIPTION_H_
