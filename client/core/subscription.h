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
// slots and the leases. It outlives the loader while batches are held.
//
// Before a fork, the pages of every leased slot become private, so that parent
// and child keep their content. In the child, the subscription is dead: leased
// slots stay mapped until released, which then notifies nobody; all else is
// given up.
//
// The lease of a batch on a GPU ends when the streams that its fields were put
// on have got there: a thread of the driver's then calls, which uses no CUDA.
// So no CUDA is called here with the mutex held, and what such a batch owns is
// freed by the next call of the user's.
//
// LieOn, AttachSlots, AddSlots, DetachSlots, Lease, Discard and CheckDevice
// belong to one thread at a time; the rest is thread-safe. The loader and its
// batches share ownership. The session's calls block, as do those that import
// or free memory of a GPU, for its driver; EndWithLastLease waits for its
// streams, at most 2 s. Errors: named at each method.
class Subscription final : public std::enable_shared_from_this<Subscription>,
                           private ForkListener {
 public:
  static std::shared_ptr<Subscription> Create(
      std::unique_ptr<wire::Session> session);
  ~Subscription();

  wire::Session& session() { return *session_; }
  shm::Rings& rings() { return rings_; }

  // Says that slots have a part on that GPU, and what is done with images.
  // A part has so many bytes.
  void LieOn(std::shared_ptr<device::Gpu> gpu, const ImageTail& tail,
             std::uint64_t device_bytes);
  // Whether that is where batches lie.
  bool LiesOn(const device::Gpu& gpu) const {
    return gpu_ != nullptr && gpu_->uuid() == gpu.uuid();
  }
  // The descriptors of a slot.
  std::size_t parts() const { return gpu_ == nullptr ? 1 : 2; }
  // Fails if the GPU is lost, which ends the leases that wait for it:
  // INTERNAL. RESOURCE_EXHAUSTED: the user holds more batches than the quota.
  // Does nothing for batches on the host.
  Status CheckDevice();

  // Maps the slots of the epoch that starts.
  Status AttachSlots(const std::vector<proto::Fd>& fds,
                     std::uint64_t slot_bytes, std::uint64_t lease_quota);
  // Maps slots that were added during the epoch.
  Status AddSlots(const std::vector<proto::Fd>& fds);
  std::uint32_t slots() const;
  void DetachSlots();

  // Leases the batch that `entry` announced to the caller. If the quota is used
  // up, copies it instead and releases it at once, unless it lies on a GPU.
  // INTERNAL if it is malformed: it is then released; RESOURCE_EXHAUSTED if
  // there is no memory for the copy.
  Status Lease(const proto::ReadyEntry& entry, forebay_batch** out);
  // Releases the batch that `entry` announced, unseen.
  void Discard(const proto::ReadyEntry& entry);

  // Queues a field of a batch on a GPU: see forebay_batch_put.
  static Status Put(forebay_batch& batch, std::uint32_t index, void* to,
                    void* stream);
  // Likewise, a part of it: see forebay_batch_put_part.
  static Status PutPart(forebay_batch& batch, std::uint32_t index,
                        std::uint64_t offset, std::uint64_t bytes, void* to,
                        void* stream);
  // Ends a batch whose last reference is gone.
  static void Release(forebay_batch* batch);

  // Takes no more batches: the daemon may take back those published, except
  // those held. Ends the session once no batch is held.
  void EndWithLastLease();

  std::uint64_t leases() const;

 private:
  explicit Subscription(std::unique_ptr<wire::Session> session)
      : session_(std::move(session)) {}

  using Parts = std::vector<std::shared_ptr<device::ImportedMemory>>;
  // A batch that was released, and a stream that it waits for.
  struct Awaited {
    forebay_batch* batch;
    void* stream;
  };

  Status Import(const std::vector<proto::Fd>& fds,
                std::vector<proto::Fd>* hosts, Parts* parts);
  // Checks that a batch can be put so, and keeps the lease until the stream has
  // done what is queued next.
  static Status BeginPut(forebay_batch& batch, const void* to, void* stream);
  Status TakeLocked(const proto::ReadyEntry& entry, forebay_batch* batch);
  void EndLease(forebay_batch* batch);
  // Ends the lease once the batch's streams have got there.
  void ReleaseAfterStreams(forebay_batch* batch);
  Status CallAfter(const Awaited& awaited);
  static void OnStreamDone(void* batch);
  // Frees the batches that their streams have done with, of any subscription,
  // and tells the driver of those that it did not take.
  void Collect();
  // Ends the leases of batches whose streams never get there.
  void ReleaseLost();
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

  mutable std::mutex mutex_;  // guards the rest, and pushing
  std::condition_variable stream_done_;
  shm::SlotMap slots_;
  Parts parts_;  // of the slots, on the GPU
  // Of those held, how many were released and wait for streams.
  std::uint64_t awaiting_ = 0;
  std::vector<Awaited> owed_;  // that the driver is still to be told of
  Status owed_error_;          // why it did not take them
  int owed_tries_ = 0;         // in vain, in a row
  std::set<forebay_batch*> held_;
  std::uint64_t lease_quota_ = 0;
  bool ending_ = false;
};

}  // namespace forebay::client::core

#endif  // FOREBAY_CLIENT_CORE_SUBSCRIPTION_H_
