#include "server/daemon/reserved_reads.h"

#include <algorithm>
#include <utility>

#include "server/base/status.h"

namespace forebay::daemon {
namespace {

// The reads take at most 1/kReadsPart of the daemon's memory, but kFewestReads
// are always possible at once.
constexpr std::uint64_t kReadsPart = 64;
constexpr std::uint64_t kFewestReads = 2;
// The most bytes that the reads in flight may ask for together. The readers
// have reserved memory for these bytes.
constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20;

}  // namespace

ReservedReads::ReservedReads(storage::ByteSource* below,
                             base::MemoryBudget* budget,
                             storage::AllJobShares* shares, Options options)
    : budget_(budget),
      options_(std::move(options)),
      reads_at_once_(std::clamp<std::uint64_t>(
          budget->limit() / kReadsPart / options_.bytes_of_read, kFewestReads,
          options_.most_reads)),
      scheduled_(below, {.reads_at_once = reads_at_once_,
                         .bytes_at_once = kMostBytes}),
      weights_(&scheduled_) {
  shares->Add(&weights_);
}

void ReservedReads::Read(absl::Span<storage::ReadRequest> requests) {
  if (requests.empty()) return;
  const absl::Status prepared = Prepare();
  if (prepared.ok()) return scheduled_.Read(requests);
  for (storage::ReadRequest& request : requests) {
    const storage::ReadDone done = std::exchange(request.done, nullptr);
    done(base::Annotate(prepared, request.object));
  }
}

// A failed reservation is tried again by the next read: memory may be free by
// then.
absl::Status ReservedReads::Prepare() {
  base::MutexLock lock(&mutex_);
  if (memory_.bytes() > 0) return absl::OkStatus();
  FOREBAY_ASSIGN_OR_RETURN(
      memory_, budget_->Reserve(reads_at_once_ * options_.bytes_of_read +
                                    options_.spare_bytes,
                                options_.purpose));
  return absl::OkStatus();
}

}  // namespace forebay::daemon
