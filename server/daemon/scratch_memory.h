#ifndef FOREBAY_SERVER_DAEMON_SCRATCH_MEMORY_H_
#define FOREBAY_SERVER_DAEMON_SCRATCH_MEMORY_H_

#include <cstdint>

namespace forebay::daemon {

// Bytes of decoder scratch that are set aside when the daemon starts.
struct ScratchMemory {
  std::uint64_t worker = 0;  // of each worker
  std::uint64_t shared = 0;  // of the shared workspace; 0: none is needed

  std::uint64_t total(int workers) const {
    return worker * static_cast<std::uint64_t>(workers) + shared;
  }
};

// Shares scratch out so that one image may need `image_limit` of it. Where that
// is much, or workers are many, each worker has less of its own; larger images
// take turns in the shared workspace. The total stays within a quarter of
// `memory_limit`. Thread-safe; never blocks; no errors.
ScratchMemory ShareOutScratch(std::uint64_t image_limit,
                              std::uint64_t memory_limit, int workers);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_SCRATCH_MEMORY_H_
