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
#include "cuda/device.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/device/device.h"
#include "server/schedule/job_shares.h"

namespace forebay::device {

// The GPUs that loaders have their batches on, by UUID. A GPU is opened for the
// first loader, and closed when none has used it for a while: a context takes
// memory that trainers miss.
//
// Thread-safe. The caller owns it; the driver outlives what it opens. Find
// blocks while its GPU is opened, CloseIdle while one is closed. Errors:
// Find's.
class DeviceDirectory final : public schedule::JobShares {
 public:
  // Returns the driver, once it is there.
  using DriverOf =
      std::function<absl::StatusOr<cuda::Driver*>(const std::stop_token&)>;
  // Returns how much of a GPU's memory slots may take, in bytes.
  using MemoryOf = std::function<std::uint64_t(const cuda::DeviceInfo&)>;

  DeviceDirectory(DriverOf driver, MemoryOf memory, const base::Clock* clock)
      : driver_(std::move(driver)), memory_(std::move(memory)), clock_(clock) {}

  // NOT_FOUND: the daemon has no such GPU. UNAVAILABLE: another process has it
  // for itself. Both say why batches cannot lie there. CANCELLED: stopped while
  // another caller opened the GPU. All else is a fault, as cuda::Driver::Open
  // and Device's queue say.
  absl::StatusOr<std::shared_ptr<Device>> Find(const std::string& uuid,
                                               const std::stop_token& stop);
  // Closes the GPUs that nobody has used for so long.
  void CloseIdle(std::int64_t idle_nanos);
  // Gives up GPUs whose copies do not end. Call it now and then.
  void Expire();
  // Stops all copies, for an owner that must end them before the objects that
  // they use.
  void Stop();
  // The GPUs that are open.
  std::vector<std::shared_ptr<Device>> open() const;
  // Whether one is lost to this process, which then has to start anew.
  bool lost() const;

  void SetWeight(schedule::Flow flow, double weight) override;
  void Forget(schedule::Flow flow) override;

 private:
  // Returns the GPU if it is open; null if the caller is to open it.
  absl::StatusOr<std::shared_ptr<Device>> FindOpen(const std::string& uuid,
                                                   const std::stop_token& stop);
  absl::StatusOr<std::shared_ptr<Device>> Open(const cuda::DeviceInfo& info,
                                               cuda::Driver& driver);

  struct Opened {
    std::shared_ptr<Device> device;
    std::int64_t used_at_nanos = 0;
  };

  const DriverOf driver_;
  const MemoryOf memory_;
  const base::Clock* const clock_;
  mutable base::Mutex mutex_;
  base::CondVar changed_;
  // The GPUs that callers are opening, by UUID.
  std::set<std::string> opening_ ABSL_GUARDED_BY(mutex_);
  bool lost_ ABSL_GUARDED_BY(mutex_) = false;  // one that could not be opened
  std::map<std::string, Opened> opened_ ABSL_GUARDED_BY(mutex_);
  std::map<schedule::Flow, double> weights_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace forebay::device

#endif  // FOREBAY_SERVER_DEVICE_DEVICE_DIRECTORY_H_
