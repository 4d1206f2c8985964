#include "server/daemon/gpus.h"

#include <pthread.h>

#include <chrono>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "cuda/device_notes.h"
#include "cuda/no_driver.h"
#include "cuda/plugin.h"
#include "server/base/byte_size.h"
#include "server/base/clock.h"
#include "spdlog/spdlog.h"

namespace forebay::daemon {
namespace {

constexpr char kPluginFile[] = "libforebay_cuda.so";

// Returns the path of the plug-in that "auto" stands for.
std::string InstalledPlugin(const std::string& folder) {
  const auto in = [&](const char* place) {
    return std::filesystem::path(absl::StrCat(folder, place, kPluginFile))
        .lexically_normal();
  };
  std::error_code error;
  // The plug-in lies beside the program in a build folder, one folder up in the
  // Python wheel, and in lib/forebay in an installation.
  for (const char* const place : {"/", "/../"}) {
    if (std::filesystem::exists(in(place), error)) return in(place);
  }
  return in("/../lib/forebay/");
}

// Returns the GPUs and their driver in one line for the log.
std::string Describe(const cuda::Inventory& inventory) {
  std::string text = absl::StrCat(inventory.devices.size(), " GPU",
                                  inventory.devices.size() == 1 ? "" : "s");
  const char* joint = ": ";
  for (const cuda::DeviceInfo& device : inventory.devices) {
    absl::StrAppend(&text, joint, device.name, " (", device.memory_bytes >> 20,
                    " MiB)");
    joint = ", ";
  }
  if (!inventory.driver_version.empty()) {
    absl::StrAppend(&text, "; driver ", inventory.driver_version);
  }
  return absl::StrCat(text, "; CUDA ", inventory.cuda_version);
}

}  // namespace

Gpus::Gpus(std::function<std::unique_ptr<cuda::Driver>()> open)
    : thread_([this, open = std::move(open)] {
        std::unique_ptr<cuda::Driver> driver = open();
        base::MutexLock lock(&mutex_);
        driver_ = std::move(driver);
        changed_.NotifyAll();
      }) {
  pthread_setname_np(thread_.native_handle(), "forebay-gpu");
}

Gpus::~Gpus() { thread_.join(); }

cuda::Inventory Gpus::inventory() const {
  base::MutexLock lock(&mutex_);
  if (driver_ != nullptr) return driver_->inventory();
  cuda::Inventory unknown;
  unknown.absence = "their driver has not answered yet";
  return unknown;
}

absl::StatusOr<cuda::Driver*> Gpus::AwaitDriver(
    const std::stop_token& stop) const {
  // A driver that initialises many GPUs takes some seconds; after a minute it
  // probably hangs.
  constexpr std::int64_t kLongNanos = 60'000'000'000;
  const base::Clock& clock = *base::Clock::Monotonic();
  const std::int64_t until = clock.NowNanos() + kLongNanos;
  const std::stop_callback wake(stop, [this] {
    base::MutexLock lock(&mutex_);
    changed_.NotifyAll();
  });
  base::MutexLock lock(&mutex_);
  while (driver_ == nullptr) {
    const std::int64_t left = until - clock.NowNanos();
    if (stop.stop_requested())
      return absl::CancelledError("interrupted while GPUs are looked for");
    if (left <= 0)
      return absl::InternalError("the GPUs' driver does not answer");
    changed_.WaitFor(&mutex_, std::chrono::nanoseconds(left));
  }
  return driver_.get();
}

std::unique_ptr<cuda::Driver> OpenGpuDriver(const std::string& plugin,
                                            const std::string& folder) {
  if (plugin == "none") {
    return std::make_unique<cuda::NoDriver>("the configuration wants none");
  }
  const bool automatic = plugin == "auto";
  absl::StatusOr<std::unique_ptr<cuda::Driver>> driver =
      cuda::OpenPlugin(automatic ? InstalledPlugin(folder) : plugin);
  if (driver.ok()) {
    const cuda::Inventory& inventory = (*driver)->inventory();
    spdlog::info("{}", Describe(inventory));
    for (const cuda::DeviceInfo& device : inventory.devices) {
      for (const std::string& note : cuda::NotesOn(device))
        spdlog::info("GPU {}: {}", device.ordinal, note);
    }
    return *std::move(driver);
  }
  std::string why(driver.status().message());
  // Many hosts have neither a plug-in nor a GPU, so the lack of one is logged
  // as information, not as a warning.
  auto level = spdlog::level::info;
  if (automatic && absl::IsNotFound(driver.status())) {
    why = absl::StrCat("no GPU plug-in is installed: ", why);
  } else if (!absl::IsUnavailable(driver.status())) {
    level = spdlog::level::warn;
  }
  spdlog::log(level, "no GPU: {}", why);
  return std::make_unique<cuda::NoDriver>(std::move(why));
}

std::uint64_t SlotMemoryOf(const std::string& setting, std::uint64_t total) {
  // "auto" stands for 1/kShare of a GPU's memory: little compared with what
  // trainers need, but room for many batches of uint8.
  constexpr std::uint64_t kShare = 32;
  if (setting == "auto") return total / kShare;
  return base::ParseByteSize(setting, total).value_or(total / kShare);
}

std::string ProgramFolder() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error)
      .parent_path()
      .string();
}

}  // namespace forebay::daemon
