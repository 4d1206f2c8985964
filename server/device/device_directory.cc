// Opens each GPU once, for all loaders on it.
//
// Opening a GPU takes tenths of a second, so the mutex is not held meanwhile.
// The first caller of Find notes the UUID in `opening_`; later callers wait
// until the GPU is open, or until their own stop is requested. A GPU is in use
// while anyone besides this directory refers to its Device. CloseIdle notes
// when it last saw a GPU in use, and closes the GPU once that is long enough
// ago.

#include "server/device/device_directory.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/device/copy_queue.h"
#include "spdlog/spdlog.h"

namespace forebay::device {
namespace {

// Nanoseconds after which a GPU that does not end a copy counts as broken. A
// copy takes milliseconds.
constexpr std::int64_t kLongestCopyNanos = 30'000'000'000;

// Returns the GPU with that UUID; null if the host has no such GPU.
const cuda::DeviceInfo* FindInfo(const cuda::Inventory& inventory,
                                 const std::string& uuid) {
  const auto found = std::find_if(
      inventory.devices.begin(), inventory.devices.end(),
      [&](const cuda::DeviceInfo& info) { return info.uuid == uuid; });
  return found == inventory.devices.end() ? nullptr : &*found;
}

}  // namespace

absl::StatusOr<std::shared_ptr<Device>> DeviceDirectory::Find(
    const std::string& uuid, const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(cuda::Driver* const driver, driver_(stop));
  const cuda::Inventory& inventory = driver->inventory();
  const cuda::DeviceInfo* const info = FindInfo(inventory, uuid);
  if (info == nullptr) {
    return absl::NotFoundError(
        inventory.devices.empty()
            ? absl::StrCat("the daemon has no GPU: ", inventory.absence)
            : absl::StrCat("the daemon has no GPU ", uuid));
  }
  FOREBAY_ASSIGN_OR_RETURN(std::shared_ptr<Device> device,
                           FindOpen(uuid, stop));
  if (device != nullptr) return device;
  auto opened = Open(*info, *driver);
  base::MutexLock lock(&mutex_);
  opening_.erase(uuid);
  changed_.NotifyAll();
  if (!opened.ok()) return opened;
  for (const auto& [flow, weight] : weights_)
    (*opened)->copier().SetWeight(flow, weight);
  opened_[uuid] = {*opened, clock_->NowNanos()};
  return opened;
}

absl::StatusOr<std::shared_ptr<Device>> DeviceDirectory::FindOpen(
    const std::string& uuid, const std::stop_token& stop) {
  // A stop must wake this caller, so the callback takes the mutex and notifies.
  // The callback may run at once, so it is registered before this function
  // takes the mutex.
  const std::stop_callback on_stop(stop, [this] {
    base::MutexLock lock(&mutex_);
    changed_.NotifyAll();
  });
  base::MutexLock lock(&mutex_);
  while (opening_.count(uuid) != 0) {
    if (stop.stop_requested())
      return absl::CancelledError(absl::StrCat("GPU ", uuid, ": not opened"));
    changed_.Wait(&mutex_);
  }
  const auto found = opened_.find(uuid);
  if (found == opened_.end()) {
    opening_.insert(uuid);
    return nullptr;
  }
  Device& device = *found->second.device;
  FOREBAY_RETURN_IF_ERROR(device.ForJobs(device.copier().health()));
  found->second.used_at_nanos = clock_->NowNanos();
  return found->second.device;
}

absl::StatusOr<std::shared_ptr<Device>> DeviceDirectory::Open(
    const cuda::DeviceInfo& info, cuda::Driver& driver) {
  auto opened = driver.Open(info.ordinal);
  if (absl::IsDataLoss(opened.status())) {
    base::MutexLock lock(&mutex_);
    lost_ = true;
    return base::Annotate(absl::InternalError(opened.status().message()),
                          info.name);
  }
  if (!opened.ok()) return base::Annotate(opened.status(), info.name);
  const std::shared_ptr<cuda::Gpu> gpu = *std::move(opened);
  spdlog::info("opened GPU {}, {}", info.ordinal, info.name);
  return std::make_shared<Device>(
      info, gpu, std::make_unique<CopyQueue>(gpu, clock_), memory_(info));
}

void DeviceDirectory::Expire() {
  for (const std::shared_ptr<Device>& device : open())
    device->copier().Expire(kLongestCopyNanos);
}

void DeviceDirectory::CloseIdle(std::int64_t idle_nanos) {
  // `idle` is declared before the lock. Its GPUs are therefore closed after the
  // lock is released, since closing takes a while.
  std::vector<std::shared_ptr<Device>> idle;
  base::MutexLock lock(&mutex_);
  const std::int64_t now = clock_->NowNanos();
  for (auto entry = opened_.begin(); entry != opened_.end();) {
    Opened& opened = entry->second;
    // A lost GPU stays open, because it could not be opened again.
    const bool used =
        opened.device.use_count() > 1 || !opened.device->copier().health().ok();
    if (used) opened.used_at_nanos = now;
    if (now - opened.used_at_nanos < idle_nanos || used) {
      ++entry;
      continue;
    }
    spdlog::info("closed GPU {}", opened.device->info().ordinal);
    idle.push_back(std::move(opened.device));
    entry = opened_.erase(entry);
  }
}

void DeviceDirectory::Stop() {
  for (const std::shared_ptr<Device>& device : open()) device->copier().Stop();
}

std::vector<std::shared_ptr<Device>> DeviceDirectory::open() const {
  base::MutexLock lock(&mutex_);
  std::vector<std::shared_ptr<Device>> devices;
  devices.reserve(opened_.size());
  for (const auto& [uuid, opened] : opened_) devices.push_back(opened.device);
  return devices;
}

bool DeviceDirectory::lost() const {
  {
    base::MutexLock lock(&mutex_);
    if (lost_) return true;
  }
  const auto devices = open();
  return std::any_of(devices.begin(), devices.end(), [](const auto& device) {
    return !device->copier().health().ok();
  });
}

void DeviceDirectory::SetWeight(schedule::Flow flow, double weight) {
  base::MutexLock lock(&mutex_);
  weights_[flow] = weight;
  for (const auto& [uuid, opened] : opened_)
    opened.device->copier().SetWeight(flow, weight);
}

void DeviceDirectory::Forget(schedule::Flow flow) {
  base::MutexLock lock(&mutex_);
  weights_.erase(flow);
  for (const auto& [uuid, opened] : opened_)
    opened.device->copier().Forget(flow);
}

}  // namespace forebay::device
