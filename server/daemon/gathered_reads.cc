#include "server/daemon/gathered_reads.h"

#include <cstddef>

namespace forebay::daemon {
namespace {

using storage::gathered::GatheredSource;

// The most reads at once; fewer where memory is short (ReservedReads).
constexpr std::size_t kMostReads = 32;
// The bytes of buffers that are kept for the next reads.
constexpr std::uint64_t kSpareBytes = std::uint64_t{2} << 20;

}  // namespace

GatheredReads::GatheredReads(storage::ByteSource* below,
                             base::MemoryBudget* budget,
                             storage::AllJobShares* shares)
    : gathered_(below, kSpareBytes),
      reserved_(&gathered_, budget, shares,
                {.bytes_of_read = GatheredSource::kBytesOfRead,
                 .most_reads = kMostReads,
                 .spare_bytes = kSpareBytes,
                 .purpose = "gathering samples"}) {}

}  // namespace forebay::daemon
