#ifndef FOREBAY_SERVER_DAEMON_SCRATCH_MEMORY_H_
#define FOREBAY_SERVER_DAEMON_SCRATCH_MEMORY_H_

#include <cstdint>

namespace forebay::daemon {

// The bytes of decoder scratch that are reserved when the daemon starts.
struct ScratchMemory {
  std::uint64_t place = 0;   // of each place for a task
  std::uint64_t shared = 0;  // of the shared workspace; 0 if none is needed

  // Returns the size in bytes of all places and of the shared workspace.
  std::uint64_t total(int places) const {
    return place * static_cast<std::uint64_t>(places) + shared;
  }
};

// Divides scratch so that one image may use `image_limit` bytes of it. If
// `image_limit` is large, or there are many places for tasks, each place gets
// less. Images that need more than a place has take turns in the shared
// workspace. The total stays within a quarter of `memory_limit`. Thread-safe;
// never blocks; has no errors.
ScratchMemory ShareOutScratch(std::uint64_t image_limit,
                              std::uint64_t memory_limit, int places);

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_SCRATCH_MEMORY_H_
