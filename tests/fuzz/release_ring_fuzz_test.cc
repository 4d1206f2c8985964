// Fuzzes a release ring as a client may write it. The daemon takes no more
// entries than the ring holds, reports impossible content as corrupt, and ends
// only leases that it has recorded.

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "proto/shm_ring.h"
#include "server/slots/channel.h"
#include "server/slots/slot_pool.h"
#include "tests/fuzz/require.h"

namespace {

using forebay::fuzz::Require;
using forebay::proto::kRingBytes;
using forebay::slots::Channel;
using forebay::slots::SlotPool;

constexpr forebay::slots::MemberId kHolder = 7;
constexpr std::uint32_t kSlots = 4;

}  // namespace

// The two halves of the input are the ring's content before and after the
// daemon's first look at the ring.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  auto channel = Channel::Create();
  Require(channel.ok());
  SlotPool pool;
  pool.Add(kSlots);
  for (std::uint32_t i = 0; i < kSlots; ++i) {
    const auto slot = pool.Take();
    pool.Finish(*slot);
    Require(pool.Lease(*slot, kHolder));
  }
  void* const ring = mmap(nullptr, kRingBytes, PROT_READ | PROT_WRITE,
                          MAP_SHARED, (*channel)->release_fd(), 0);
  Require(ring != MAP_FAILED);
  std::uint32_t ended = 0;
  for (const std::size_t half : {size / 2, size - size / 2}) {
    std::memcpy(ring, data, std::min<std::size_t>(half, kRingBytes));
    data += half;
    std::uint32_t taken = 0;
    while (const auto release = (*channel)->TakeRelease()) {
      Require(++taken <= forebay::proto::kReleaseCapacity);
      ended += pool.Release(release->slot, release->generation, kHolder);
    }
    static_cast<void>((*channel)->client_report());
    if ((*channel)->corrupt()) break;
  }
  Require(ended + pool.Leases(kHolder) == kSlots);
  munmap(ring, kRingBytes);
  return 0;
}
