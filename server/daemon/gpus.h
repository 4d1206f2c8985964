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
#include "cuda/driver.h"
#include "server/base/mutex.h"

namespace forebay::daemon {

// The host's GPUs. A thread of its own opens their driver, because opening may
// take seconds, or hang if a GPU is broken. Trainers that use no GPU do not
// wait for it.
//
// Thread-safe. Owns the driver. inventory() does not block; AwaitDriver and
// destruction block until the driver is open. Only AwaitDriver has errors.
class Gpus {
 public:
  // Starts the thread, which calls `open`.
  explicit Gpus(std::function<std::unique_ptr<cuda::Driver>()> open);
  ~Gpus();

  // Returns the GPUs. Until the driver is open, the list is empty, and
  // Inventory::absence says why.
  cuda::Inventory inventory() const;
  // Waits until the driver is open. CANCELLED: `stop` was requested first.
  // INTERNAL: the driver took more than 60 s.
  absl::StatusOr<cuda::Driver*> AwaitDriver(const std::stop_token& stop) const;

 private:
  mutable base::Mutex mutex_;
  mutable base::CondVar changed_;
  std::unique_ptr<cuda::Driver> driver_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// Returns the driver of the plug-in that `plugin`, the key cuda.plugin, names
// (see config.proto). If the plug-in cannot be opened, returns a driver that
// has no GPUs and gives the reason. `folder` is the folder of the program, near
// which "auto" looks for the plug-in. Logs the GPUs, or the error. Blocks, as
// cuda::OpenPlugin does.
std::unique_ptr<cuda::Driver> OpenGpuDriver(const std::string& plugin,
                                            const std::string& folder);

// Returns how many bytes slots may take on a GPU that has `total` bytes of
// memory. `setting` is the value of the key cuda.memory, and is known to be
// valid.
std::uint64_t SlotMemoryOf(const std::string& setting, std::uint64_t total);

// Returns the folder of this process's program; empty if it is unknown.
std::string ProgramFolder();

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_GPUS_H_
