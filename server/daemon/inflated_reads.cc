#include "server/daemon/inflated_reads.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace forebay::daemon {
namespace {

using storage::inflated::InflatedSource;

constexpr std::size_t kMostReads = 32;
constexpr std::size_t kMostZstdReads = 16;
// Of buffers for the next reads.
constexpr std::uint64_t kSpareBytes = std::uint64_t{2} << 20;

ReservedReads::Options OptionsOf(std::uint64_t bytes_of_read,
                                 std::size_t most_reads) {
  return {.bytes_of_read = bytes_of_read,
          .most_reads = most_reads,
          .spare_bytes = kSpareBytes,
          .purpose = "inflating files"};
}

}  // namespace

InflatedReads::InflatedReads(storage::ByteSource* below,
                             executor::Executor* executor,
                             base::MemoryBudget* budget,
                             storage::AllJobShares* shares)
    : inflated_(
          below,
          [executor](const storage::ReadPurpose& purpose,
                     std::int64_t cpu_nanos, std::function<void()> task) {
            executor->SubmitFor(
                storage::PayersOf(purpose),
                {.cpu_nanos = cpu_nanos, .urgency = purpose.urgency},
                [task = std::move(task)](int) { task(); });
          },
          kSpareBytes),
      deflated_(&inflated_, budget, shares,
                OptionsOf(InflatedSource::kBytesOfRead, kMostReads)),
      zstd_(&inflated_, budget, shares,
            OptionsOf(InflatedSource::kBytesOfZstdRead, kMostZstdReads)) {}

void InflatedReads::Read(absl::Span<storage::ReadRequest> requests) {
  const auto of_zstd =
      std::stable_partition(requests.begin(), requests.end(),
                            [](const storage::ReadRequest& request) {
                              return !InflatedSource::IsOfZstd(request);
                            });
  const std::size_t deflated = of_zstd - requests.begin();
  deflated_.Read(requests.first(deflated));
  zstd_.Read(requests.subspan(deflated));
}

}  // namespace forebay::daemon
