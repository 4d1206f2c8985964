#include "server/daemon/decompressed_reads.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

namespace forebay::daemon {
namespace {

using storage::compressed::DecompressedSource;

// The most reads at once; fewer where memory is short (ReservedReads).
constexpr std::size_t kMostReads = 32;
constexpr std::size_t kMostZstdReads = 16;
// The bytes of buffers that are kept for the next reads.
constexpr std::uint64_t kSpareBytes = std::uint64_t{2} << 20;

ReservedReads::Options OptionsOf(std::uint64_t bytes_of_read,
                                 std::size_t most_reads) {
  return {.bytes_of_read = bytes_of_read,
          .most_reads = most_reads,
          .spare_bytes = kSpareBytes,
          .purpose = "decompressing files"};
}

}  // namespace

DecompressedReads::DecompressedReads(storage::ByteSource* below,
                                     executor::Executor* executor,
                                     base::MemoryBudget* budget,
                                     storage::AllJobShares* shares)
    : decompressed_(
          below,
          [executor](const storage::ReadPurpose& purpose,
                     std::int64_t cpu_nanos, std::function<void()> task) {
            executor->SubmitFor(
                storage::PayersOf(purpose),
                {.cpu_nanos = cpu_nanos, .urgency = purpose.urgency},
                [task = std::move(task)](int) { task(); });
          },
          kSpareBytes),
      deflated_(&decompressed_, budget, shares,
                OptionsOf(DecompressedSource::kBytesOfRead, kMostReads)),
      zstd_(&decompressed_, budget, shares,
            OptionsOf(DecompressedSource::kBytesOfZstdRead, kMostZstdReads)) {}

// The requests are divided in place, in their order, so that each of the two
// sources gets its requests in one call.
void DecompressedReads::Read(absl::Span<storage::ReadRequest> requests) {
  const auto of_zstd =
      std::stable_partition(requests.begin(), requests.end(),
                            [](const storage::ReadRequest& request) {
                              return !DecompressedSource::IsOfZstd(request);
                            });
  const std::size_t deflated = of_zstd - requests.begin();
  deflated_.Read(requests.first(deflated));
  zstd_.Read(requests.subspan(deflated));
}

}  // namespace forebay::daemon
