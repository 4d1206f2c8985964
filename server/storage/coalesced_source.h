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
  // Of one read below.
  std::uint64_t most_bytes = std::uint64_t{6} << 20;
  // Bytes between two requests that are read for nothing.
  std::uint64_t most_gap = std::uint64_t{32} << 10;
  // Of spent copies, for the next ones.
  std::uint64_t spare_bytes = std::uint64_t{8} << 20;

  // For a host that has so much memory for all: together they take one part in
  // 128 of it, at most 16 MiB.
  static CoalescedSourceOptions For(std::uint64_t memory);
};

// Makes one read of those that come together, are paid by the same jobs, and
// lie near each other in one object: that saves requests, and lets disks read
// on. Each gets the bytes that it asked for, and holds no others. Such a read
// takes the most urgent one's place, and what is shared of it is all of it. One
// that fails is made again, request by request, so that what is wrong with some
// bytes harms only who asked for those; who joined one of them has joined it
// then, too. A request that stands alone passes as it is.
//
// Memory: who asks for bytes has set HeldBytes of them aside, and a read that
// serves several takes no more than all of those together; but while its bytes
// are handed out they are there twice. So that is done for one read at a time,
// for which Create reserves, as for the spare buffers.
//
// Thread-safe. The caller owns it; the source below outlives it, but for what
// Stop says, as does the budget. What it gave may outlive it. Read does not
// block; `done` copies for a millisecond or two, one read's at a time.
// Destruction waits for the reads under way that serve several. Errors are
// those of the source below. Create: RESOURCE_EXHAUSTED (the budget).
class CoalescedSource final : public ByteSource {
 public:
  static absl::StatusOr<std::unique_ptr<CoalescedSource>> Create(
      ByteSource* below, base::MemoryBudget* budget,
      const CoalescedSourceOptions& options = {});
  ~CoalescedSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;

  // From now on nothing is made again: the source below is read only by who
  // calls Read, and may go before this does when nobody does so any more.
  void Stop();

 private:
  // What one read below serves.
  struct Range {
    std::uint64_t offset = 0;  // bytes
    std::uint64_t length = 0;  // bytes
    std::vector<ReadRequest> members;
  };

  // A member, and who joined it.
  struct Member {
    std::uint64_t ticket = 0;  // of the read that serves it
    std::vector<ReadPurpose> joined;
  };

  CoalescedSource(ByteSource* below, base::MemoryReservation memory,
                  const CoalescedSourceOptions& options);

  // Whether the request may be a part of a range at all.
  bool MayJoin(const ReadRequest& request) const;
  // How many of `order`, requests by their place in their objects, one read is
  // to serve, from the first on.
  std::size_t Together(absl::Span<ReadRequest* const> order) const;
  // The one request for all of them, whose contents it takes.
  ReadRequest Join(absl::Span<ReadRequest* const> members);
  void Complete(Range& range, absl::StatusOr<ReadResult> result);
  // Each member's own copy, in order; those of `whole` are gone then.
  std::vector<absl::StatusOr<ReadResult>> HandOut(const Range& range,
                                                  ReadResult whole);
  // Reads each member by itself, or gives it the error.
  void ReadAgain(Range& range, const absl::Status& error);
  // Tells the source below who joined these, which are asked for by themselves.
  void ShareAgain(absl::Span<const std::uint64_t> tickets);
  // Lets go of the members' tickets.
  void Part(const Range& range);

  ByteSource* const below_;
  const base::MemoryReservation memory_;
  const CoalescedSourceOptions options_;
  const std::shared_ptr<BufferPool> buffers_;

  // Held while a read's bytes are copied, and never with the other.
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
