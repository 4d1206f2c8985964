#ifndef FOREBAY_SERVER_STORAGE_COALESCED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_COALESCED_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/bytes.h"
#include "server/base/memory_budget.h"
#include "server/base/mutex.h"
#include "server/storage/buffer_pool.h"
#include "server/storage/byte_source.h"

namespace forebay::storage {

// The limits of joint reads, in bytes.
struct CoalescedSourceOptions {
  // The longest joint read of the source below.
  std::uint64_t most_bytes = std::uint64_t{6} << 20;
  // The longest run of unwanted bytes between two requests that one read
  // serves.
  std::uint64_t most_gap = std::uint64_t{32} << 10;
  // The most bytes of free buffers that are kept for later copies.
  std::uint64_t spare_bytes = std::uint64_t{8} << 20;

  // Returns the options for a daemon that has `memory` bytes. A joint read and
  // the spare buffers together take about 1/128 of `memory`, and 16 MiB at
  // most.
  static CoalescedSourceOptions For(std::uint64_t memory);
};

// Makes one joint read of requests that come together and lie near each other
// in one object, if the same jobs pay for them. A joint read saves requests,
// and lets disks read sequentially. A request without neighbours is forwarded
// unchanged.
//
// Each request gets a copy of its own bytes, so that it does not hold the
// memory of the whole joint read. The joint read has the urgency of its most
// urgent request. A reader who shares one of its requests shares the whole
// joint read. If a joint read fails, each request is read by itself, so that
// bad bytes harm only the requests for them. Readers that shared a request then
// share that request's own read.
//
// Memory: a caller has reserved HeldBytes for each request, and a joint read
// takes no more than the sum of its requests' reservations. The bytes of a
// joint read exist twice while they are copied. Therefore one joint read is
// copied at a time. Create reserves the memory for one such copy and for the
// spare buffers.
//
// Thread-safe. The caller owns the source. The budget and, except as Stop says,
// the source below outlive it. The bytes that the source gave may outlive it.
// Read does not block. The `done` of a joint read copies bytes for a
// millisecond or two, one joint read at a time. Destruction waits for the joint
// reads in flight. Errors are those of the source below; Create gives
// RESOURCE_EXHAUSTED if the budget has no memory left.
class CoalescedSource final : public ByteSource {
 public:
  static absl::StatusOr<std::unique_ptr<CoalescedSource>> Create(
      ByteSource* below, base::MemoryBudget* budget,
      const CoalescedSourceOptions& options = {});
  ~CoalescedSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Stops repeating failed reads. Afterwards only callers of Read cause reads
  // of the source below. Once nobody calls Read any more, the source below may
  // be destroyed before this one.
  void Stop();

 private:
  // A joint read, and the requests that it serves.
  struct Range {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
    std::vector<ReadRequest> members;
  };

  // A request of a joint read, and the readers that have shared it.
  struct Member {
    // The ticket of the read that serves the request: the joint read's ticket,
    // or the request's own.
    std::uint64_t ticket = 0;
    std::vector<ReadPurpose> joined;
  };

  CoalescedSource(ByteSource* below, base::MemoryReservation memory,
                  const CoalescedSourceOptions& options);

  // Whether the request may join a joint read.
  bool MayJoin(const ReadRequest& request) const;
  // Returns the number of requests at the front of `order` that one joint read
  // can serve. `order` is sorted by object and offset.
  std::size_t Together(absl::Span<ReadRequest* const> order) const;
  // Returns one request for all members. Takes the members' contents.
  ReadRequest Join(absl::Span<ReadRequest* const> members);
  // Gives each member its bytes, or reads it again if the joint read has
  // failed.
  void Complete(Range& range, absl::StatusOr<ReadResult> result);
  // Returns each member's own copy, in the order of the members, and frees the
  // bytes of `whole`.
  std::vector<absl::StatusOr<ReadResult>> HandOut(const Range& range,
                                                  ReadResult whole);
  // Reads each member by itself. If the joint read was cancelled, or Stop was
  // called, fails the members with CANCELLED instead.
  void ReadAgain(Range& range, const absl::Status& error);
  // Tells the source below who had shared the members of a failed joint read,
  // after each member was sent there by itself.
  void ShareAgain(absl::Span<const std::uint64_t> tickets);
  // Forgets the members' tickets.
  void Part(const Range& range);

  ByteSource* const below_;
  const base::MemoryReservation memory_;
  const CoalescedSourceOptions options_;
  const std::shared_ptr<BufferPool> buffers_;

  // This mutex is held while the bytes of a read are copied, and never together
  // with mutex_.
  base::Mutex handing_out_;

  base::Mutex mutex_;
  base::CondVar quiet_;
  // The requests of joint reads in flight, by their own tickets.
  std::unordered_map<std::uint64_t, Member> members_ ABSL_GUARDED_BY(mutex_);
  // The number of joint reads with a member that has no result yet.
  std::size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;
  // The number of calls of ReadAgain that are calling the source below.
  std::size_t being_repeated_ ABSL_GUARDED_BY(mutex_) = 0;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_COALESCED_SOURCE_H_
