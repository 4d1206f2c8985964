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

struct CoalescedSourceOptions {
  // Of one read of the source below.
  std::uint64_t most_bytes = std::uint64_t{6} << 20;
  // The unwanted bytes between two requests that are read with them.
  std::uint64_t most_gap = std::uint64_t{32} << 10;
  // Of buffers of earlier copies, for the next ones.
  std::uint64_t spare_bytes = std::uint64_t{8} << 20;

  // Returns the options for a daemon with so much memory: reads and spare
  // buffers together take one part in 128 of it, at most 16 MiB.
  static CoalescedSourceOptions For(std::uint64_t memory);
};

// Makes one read of requests that come together, that the same jobs pay for,
// and that lie near each other in one object. That saves requests, and lets
// disks read on. Each request gets the bytes that it asked for, and holds no
// others. The joint read has the place of the most urgent request, and is
// shared as a whole. If it fails, each request is read by itself, so that bad
// bytes harm only the requests for them; readers that shared one of them share
// that read too. A request without neighbours passes as it is.
//
// Memory: a caller has reserved HeldBytes of each request, and a joint read
// takes no more than all of those together. While its bytes are copied, they
// exist twice. So one read is copied at a time, and Create reserves the memory
// for that and for the spare buffers.
//
// Thread-safe. The caller owns it; the budget outlives it, and so does the
// source below, except as Stop says. The bytes that it gave may outlive it.
// Read does not block; `done` copies for a millisecond or two, one read at a
// time. Destruction waits for the joint reads in flight. Errors are those of
// the source below. Create: RESOURCE_EXHAUSTED (the budget).
class CoalescedSource final : public ByteSource {
 public:
  static absl::StatusOr<std::unique_ptr<CoalescedSource>> Create(
      ByteSource* below, base::MemoryBudget* budget,
      const CoalescedSourceOptions& options = {});
  ~CoalescedSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // Ends the repetition of failed reads: only callers of Read make the source
  // below read. Once none calls it any more, that source may go first.
  void Stop();

 private:
  // A joint read, and the requests that it serves.
  struct Range {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
    std::vector<ReadRequest> members;
  };

  // A member, and the readers that shared it.
  struct Member {
    std::uint64_t ticket = 0;  // of the read that serves it
    std::vector<ReadPurpose> joined;
  };

  CoalescedSource(ByteSource* below, base::MemoryReservation memory,
                  const CoalescedSourceOptions& options);

  // Whether the request may be a part of a range.
  bool MayJoin(const ReadRequest& request) const;
  // Returns how many requests of `order`, from the first on, one read serves.
  // They are sorted by their place in their objects.
  std::size_t Together(absl::Span<ReadRequest* const> order) const;
  // Returns one request for all of them, whose contents it takes.
  ReadRequest Join(absl::Span<ReadRequest* const> members);
  void Complete(Range& range, absl::StatusOr<ReadResult> result);
  // Returns each member's own copy, in order. Frees the bytes of `whole`.
  std::vector<absl::StatusOr<ReadResult>> HandOut(const Range& range,
                                                  ReadResult whole);
  // Reads each member by itself, or cancels it.
  void ReadAgain(Range& range, const absl::Status& error);
  // Shares these reads below, as their readers did with the joint read.
  void ShareAgain(absl::Span<const std::uint64_t> tickets);
  // Forgets the members' tickets.
  void Part(const Range& range);

  ByteSource* const below_;
  const base::MemoryReservation memory_;
  const CoalescedSourceOptions options_;
  const std::shared_ptr<BufferPool> buffers_;

  // Held while a read's bytes are copied, and never with mutex_.
  base::Mutex handing_out_;

  base::Mutex mutex_;
  base::CondVar quiet_;
  // By the members' tickets.
  std::unordered_map<std::uint64_t, Member> members_ ABSL_GUARDED_BY(mutex_);
  std::size_t under_way_ ABSL_GUARDED_BY(mutex_) = 0;       // reads for several
  std::size_t being_repeated_ ABSL_GUARDED_BY(mutex_) = 0;  // calls below
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace forebay::storage

#endif  // FOREBAY_SERVER_STORAGE_COALESCED_SOURCE_H_
