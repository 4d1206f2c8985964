#include "server/daemon/inflated_reads.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>

#include "server/base/status.h"

namespace forebay::daemon {
namespace {

using storage::inflated::InflatedSource;

// Reads of a kind take at most this part of the memory.
constexpr std::uint64_t kReadsPart = 64;
constexpr std::uint64_t kFewestReads = 2;
constexpr std::size_t kMostReads = 32;
constexpr std::size_t kMostZstdReads = 16;
// Of buffers for the next reads.
constexpr std::uint64_t kSpareBytes = std::uint64_t{2} << 20;
// Its readers have reserved them.
constexpr std::uint64_t kMostInflated = std::uint64_t{64} << 20;

}  // namespace

InflatedReads::Kind::Kind(storage::ByteSource* inflated,
                          std::uint64_t bytes_of_read, std::size_t most_reads,
                          const base::MemoryBudget& budget)
    : bytes_of_read(bytes_of_read),
      reads_at_once(
          std::clamp<std::uint64_t>(budget.limit() / kReadsPart / bytes_of_read,
                                    kFewestReads, most_reads)),
      source(inflated,
             {.reads_at_once = reads_at_once, .bytes_at_once = kMostInflated}) {
}

InflatedReads::InflatedReads(storage::ByteSource* below,
                             executor::Executor* executor,
                             base::MemoryBudget* budget,
                             storage::AllJobShares* shares)
    : budget_(budget),
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
      deflated_(&inflated_, InflatedSource::kBytesOfRead, kMostReads, *budget),
      zstd_(&inflated_, InflatedSource::kBytesOfZstdRead, kMostZstdReads,
            *budget),
      deflated_weights_(&deflated_.source),
      zstd_weights_(&zstd_.source) {
  shares->Add(&deflated_weights_);
  shares->Add(&zstd_weights_);
}

void InflatedReads::Read(absl::Span<storage::ReadRequest> requests) {
  const auto of_zstd =
      std::stable_partition(requests.begin(), requests.end(),
                            [](const storage::ReadRequest& request) {
                              return !InflatedSource::IsOfZstd(request);
                            });
  const std::size_t deflated = of_zstd - requests.begin();
  ReadKind(deflated_, requests.first(deflated));
  ReadKind(zstd_, requests.subspan(deflated));
}

void InflatedReads::ReadKind(Kind& kind,
                             absl::Span<storage::ReadRequest> requests) {
  if (requests.empty()) return;
  const absl::Status prepared = Prepare(kind);
  if (prepared.ok()) return kind.source.Read(requests);
  for (storage::ReadRequest& request : requests) {
    const storage::ReadDone done = std::exchange(request.done, nullptr);
    done(base::Annotate(prepared, request.object));
  }
}

absl::Status InflatedReads::Prepare(Kind& kind) {
  base::MutexLock lock(&kind.mutex);
  if (kind.memory.bytes() > 0) return absl::OkStatus();
  FOREBAY_ASSIGN_OR_RETURN(
      kind.memory,
      budget_->Reserve(kind.reads_at_once * kind.bytes_of_read + kSpareBytes,
                       "inflating files"));
  return absl::OkStatus();
}

}  // namespace forebay::daemon
