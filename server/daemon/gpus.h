#ifndef FOREBAY_SERVER_DAEMON_GPUS_H_
#define FOREBAY_SERVER_DAEMON_GPUS_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "cuda/device.h"
#include "server/base/mutex.h"

namespace forebay::daemon {

// The host's GPUs. Their driver is opened on a thread of its own: it may take
// seconds to wake them, and that of a sick GPU may hang, which must keep no
// trainer waiting.
//
// Thread-safe. Owns the driver. inventory() does not block; destruction waits
// until the driver is open. No errors: see cuda::Driver.
class Gpus {
 public:
  explicit Gpus(std::function<std::unique_ptr<cuda::Driver>()> open);
  ~Gpus();

  // Until the driver is open there are none, as its `absence` says.
  cuda::Inventory inventory() const;

 private:
  mutable base::Mutex mutex_;
  std::unique_ptr<cuda::Driver> driver_ ABSL_GUARDED_BY(mutex_);
  std::thread thread_;
};

// The driver of the plug-in that the key cuda.plugin names ("auto": see
// config.proto; `folder` is where the program is), else none, with the reason.
// Logs which GPUs there are, in one line. Blocks, as cuda::OpenPlugin does.
std::unique_ptr<cuda::Driver> OpenGpuDriver(const std::string& plugin,
                                            const std::string& folder);

// Where the program of this process is; empty: unknown.
std::string ProgramFolder();

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_GPUS_H_
