#include "server/daemon/gathered_reads.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "server/base/status.h"

namespace forebay::daemon {
namespace {

using storage::gathered::GatheredSource;

// The reads take at most this part of the memory.
constexpr std::uint64_t kReadsPart = 64;
constexpr std::uint64_t kFewestReads = 2;
constexpr std::uint64_t kMostReads = 32;
// Of buffers for the next reads.
constexpr std::uint64_t kSpareBytes = std::uint64_t{2} << 20;
// Its readers have reserved them.
constexpr std::uint64_t kMostGathered = std::uint64_t{64} << 20;

}  // namespace

GatheredReads::GatheredReads(storage::ByteSource* below,
                             base::MemoryBudget* budget,
                             storage::AllJobShares* shares)
    : budget_(budget),
      reads_at_once_(std::clamp<std::uint64_t>(
          budget->limit() / kReadsPart / GatheredSource::kBytesOfRead,
          kFewestReads, kMostReads)),
      gathered_(below, kSpareBytes),
      scheduled_(&gathered_, {.reads_at_once = reads_at_once_,
                              .bytes_at_once = kMostGathered}),
      weights_(&scheduled_) {
  shares->Add(&weights_);
}

void GatheredReads::Read(absl::Span<storage::ReadRequest> requests) {
  const absl::Status prepared = Prepare();
  if (prepared.ok()) return scheduled_.Read(requests);
  for (storage::ReadRequest& request : requests) {
    const storage::ReadDone done = std::exchange(request.done, nullptr);
    done(base::Annotate(prepared, request.object));
  }
}

absl::Status GatheredReads::Prepare() {
  base::MutexLock lock(&mutex_);
  if (memory_.bytes() > 0) return absl::OkStatus();
  FOREBAY_ASSIGN_OR_RETURN(
      memory_, budget_->Reserve(
                   reads_at_once_ * GatheredSource::kBytesOfRead + kSpareBytes,
                   "gathering samples"));
  return absl::OkStatus();
}

}  // namespace forebay::daemon
