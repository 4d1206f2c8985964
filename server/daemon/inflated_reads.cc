#include "server/daemon/inflated_reads.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "server/base/status.h"

namespace forebay::daemon {
namespace {

using storage::inflated::InflatedSource;

// Reads take at most this part of the memory.
constexpr std::uint64_t kReadsPart = 64;
constexpr std::uint64_t kFewestReads = 2;
constexpr std::uint64_t kMostReads = 32;
// Of buffers for the next reads.
constexpr std::uint64_t kSpareBytes = std::uint64_t{2} << 20;
// Its readers have reserved them.
constexpr std::uint64_t kMostInflated = std::uint64_t{64} << 20;

}  // namespace

InflatedReads::InflatedReads(storage::ByteSource* below,
                             executor::Executor* executor,
                             base::MemoryBudget* budget,
                             storage::AllJobShares* shares)
    : budget_(budget),
      reads_at_once_(std::clamp(
          budget->limit() / kReadsPart / InflatedSource::kBytesOfRead,
          kFewestReads, kMostReads)),
      inflated_(
          below,
          [executor](const storage::ReadPurpose& purpose,
                     std::int64_t cpu_nanos, std::function<void()> task) {
            executor->SubmitFor(
                storage::PayersOf(purpose),
                {.cpu_nanos = cpu_nanos, .urgency = purpose.urgency},
                [task = std::move(task)](int) { task(); });
          },
          kSpareBytes),
      scheduled_(&inflated_, {.reads_at_once = reads_at_once_,
                              .bytes_at_once = kMostInflated}),
      weights_(&scheduled_) {
  shares->Add(&weights_);
}

void InflatedReads::Read(absl::Span<storage::ReadRequest> requests) {
  const absl::Status prepared = Prepare();
  if (prepared.ok()) return scheduled_.Read(requests);
  for (storage::ReadRequest& request : requests) {
    const storage::ReadDone done = std::exchange(request.done, nullptr);
    done(base::Annotate(prepared, request.object));
  }
}

absl::Status InflatedReads::Prepare() {
  base::MutexLock lock(&mutex_);
  if (memory_.bytes() > 0) return absl::OkStatus();
  FOREBAY_ASSIGN_OR_RETURN(
      memory_, budget_->Reserve(
                   reads_at_once_ * InflatedSource::kBytesOfRead + kSpareBytes,
                   "inflating files"));
  return absl::OkStatus();
}

}  // namespace forebay::daemon
