#ifndef FOREBAY_SERVER_DAEMON_GPUS_H_
#define FOREBAY_SERVER_DAEMON_GPUS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "cuda/device.h"
#include "server/base/mutex.h"

namespace forebay::daemon {

// The host's GPUs. A thread of its own opens their driver: that may take
// seconds, and hang for a sick GPU, which must keep no trainer waiting.
//
// Thread-safe. Owns the driver. inventory() does not block; AwaitDriver and
// destruction wait until the driver is open. Errors: AwaitDriver's.
class Gpus {
 public:
  explicit Gpus(std::function<std::unique_ptr<cuda::Driver>()> open);
  ~Gpus();

  // Returns none until the driver is open, and says so in `absence`.
  cuda::Inventory inventory() const;
  // Waits until the driver is open. CANCELLED: `stop` came first. INTERNAL: it
  // takes too long.
  absl::StatusOr<cuda::Driver*> AwaitDriver(const std::stop_token& stop) const;

 private:
  mutable base::Mutex mutex_;
  mutable base::CondVar changed_;
  std::unique_ptr<cuda::Driver> driver_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Returns the driver of the plug-in that the key cuda.plugin names, else a
// driver of no GPUs that has the reason. "auto" is as config.proto says;
// `folder` is the program's. Logs the GPUs in one line. Blocks, as
// cuda::OpenPlugin does.
std::unique_ptr<cuda::Driver> OpenGpuDriver(const std::string& plugin,
                                            const std::string& folder);

// Returns the bytes of a GPU of `total` that cuda.memory allows slots to take.
// The setting was checked.
std::uint64_t SlotMemoryOf(const std::string& setting, std::uint64_t total);

// Returns the folder of this process's program; empty: unknown.
std::string ProgramFolder();

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_GPUS_H_
