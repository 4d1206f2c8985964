#ifndef FOREBAY_SERVER_DEVICE_DEVICE_DIRECTORY_H_
#define FOREBAY_SERVER_DEVICE_DEVICE_DIRECTORY_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "cuda/driver.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/device/device.h"
#include "server/schedule/job_shares.h"

namespace forebay::device {

// The GPUs in whose memory loaders have their batches, by UUID. A GPU is opened
// for its first loader. When nobody has used the GPU for a while, it is closed,
// because its context takes GPU memory that trainers need.
//
// Thread-safe. The caller owns the directory. The driver must outlive the GPUs
// that it opens. Find blocks while a GPU is opened; CloseIdle blocks while GPUs
// are closed. Only Find returns errors.
class DeviceDirectory final : public schedule::JobShares {
 public:
  // Returns the driver. May block until the driver is loaded or a stop is
  // requested.
  using DriverOf =
      std::function<absl::StatusOr<cuda::Driver*>(const std::stop_token&)>;
  // Returns the most bytes of a GPU's memory that slots may take.
  using MemoryOf = std::function<std::uint64_t(const cuda::DeviceInfo&)>;

  // Opens nothing yet. The clock must outlive the GPUs' copy threads.
  DeviceDirectory(DriverOf driver, MemoryOf memory, const base::Clock* clock)
      : driver_(std::move(driver)), memory_(std::move(memory)), clock_(clock) {}

  // Returns the GPU with that UUID, and opens it if it is not open. NOT_FOUND:
  // the daemon has no such GPU. UNAVAILABLE: another process has the GPU for
  // itself. In both cases, the message says why batches cannot lie there.
  // CANCELLED: a stop was requested while another caller opened the GPU. All
  // other errors are faults, as cuda::Driver::Open and Copier give them.
  absl::StatusOr<std::shared_ptr<Device>> Find(const std::string& uuid,
                                               const std::stop_token& stop);
  // Closes GPUs that nobody has used for `idle_nanos` nanoseconds.
  void CloseIdle(std::int64_t idle_nanos);
  // Gives up GPUs whose copies do not end (Copier::Expire). Call it every now
  // and then.
  void Expire();
  // Stops all copies. The owner calls Stop before it destroys objects that
  // copies and their `done` functions use.
  void Stop();
  // Returns the GPUs that are open.
  std::vector<std::shared_ptr<Device>> open() const;
  // Whether a GPU is lost to this process, which must then be started anew.
  bool lost() const;

  void SetWeight(schedule::Flow flow, double weight) override;
  void Forget(schedule::Flow flow) override;

 private:
  // Returns the GPU if it is open, or null if it is not. If the result is null,
  // the caller must open the GPU, and other callers wait meanwhile. If another
  // caller is opening the GPU, waits for it.
  absl::StatusOr<std::shared_ptr<Device>> FindOpen(const std::string& uuid,
                                                   const std::stop_token& stop);
  // Opens a GPU, and starts its copy thread.
  absl::StatusOr<std::shared_ptr<Device>> Open(const cuda::DeviceInfo& info,
                                               cuda::Driver& driver);

  // An open GPU, and when CloseIdle last saw it in use.
  struct Opened {
    std::shared_ptr<Device> device;
    std::int64_t used_at_nanos = 0;
  };

  const DriverOf driver_;
  const MemoryOf memory_;
  const base::Clock* const clock_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  // UUIDs of GPUs that callers are opening.
  std::set<std::string> opening_ ABSL_GUARDED_BY(mutex_);
  // Whether a GPU could not be opened because it is lost.
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;
  // Open GPUs, by UUID.
  std::map<std::string, Opened> opened_ ABSL_GUARDED_BY(mutex_);
  // Weights of jobs, for GPUs that are opened later.
  std::map<schedule::Flow, double> weights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_DEVICE_DIRECTORY_H_
