// Loads the GPU plug-in, and checks everything that the plug-in returns.
//
// The file is checked before dlopen: a library that was cut short would end the
// process by SIGBUS. The version is checked before any other field, since only
// the version has the same place in all versions. Texts may lack their NUL or
// hold control characters, and counts may be out of range, so they are checked
// as well. The library is opened with RTLD_NODELETE: its code stays mapped even
// after dlclose.

#include "cuda/plugin.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "cuda/elf_image.h"
#include "cuda/plugin_abi.h"
#include "cuda/plugin_gpu.h"

namespace forebay::cuda {
namespace {

// The largest number of GPUs that a plug-in may describe, several times as many
// as a host can hold.
constexpr std::int32_t kMaxDevices = 256;
// Bytes of the buffer for the plug-in's reason.
constexpr std::size_t kWhyBytes = 1024;

struct CloseLibrary {
  void operator()(void* handle) const { dlclose(handle); }
};
using Library = std::unique_ptr<void, CloseLibrary>;

// Returns a field's text without control characters. The field's NUL may be
// missing.
template <std::size_t kSize>
std::string Text(const char (&field)[kSize]) {
  std::string text(field, strnlen(field, kSize));
  std::replace_if(
      text.begin(), text.end(),
      [](unsigned char c) { return c < 0x20 || c == 0x7F; }, '?');
  return text;
}

// A driver that calls a plug-in. Threads, blocking and errors are as Driver
// says. Owns the plug-in's library.
class PluginDriver final : public Driver {
 public:
  PluginDriver(Library library, const Plugin& plugin, Inventory inventory)
      : library_(std::move(library)),
        plugin_(plugin),
        inventory_(std::move(inventory)) {}

  const Inventory& inventory() const override { return inventory_; }

  absl::StatusOr<std::unique_ptr<Gpu>> Open(int ordinal) override {
    if (ordinal < 0 || ordinal >= std::ssize(inventory_.devices)) {
      return absl::NotFoundError(absl::StrCat("there is no GPU ", ordinal));
    }
    return OpenPluginGpu(plugin_.gpu, ordinal);
  }

 private:
  const Library library_;
  const Plugin& plugin_;
  const Inventory inventory_;
};

// Converts a CUcomputemode. Only old drivers use the number 1.
ComputeMode ModeOf(std::int32_t mode) {
  switch (mode) {
    case 2:
      return ComputeMode::kProhibited;
    case 3:
      return ComputeMode::kExclusive;
    default:
      return ComputeMode::kShared;
  }
}

// Converts the plug-in's plain data to an Inventory.
Inventory ToInventory(const PluginHost& host,
                      const std::vector<PluginDevice>& devices) {
  Inventory inventory;
  inventory.driver_version = Text(host.driver_version);
  inventory.cuda_version = absl::StrCat(host.cuda_version / 1000, ".",
                                        host.cuda_version % 1000 / 10);
  for (int i = 0; i < host.device_count; ++i) {
    const PluginDevice& in = devices[i];
    DeviceInfo out;
    out.ordinal = i;
    out.uuid = Text(in.uuid);
    out.name = Text(in.name);
    out.memory_bytes = in.memory_bytes;
    out.compute_major = in.compute_major;
    out.compute_minor = in.compute_minor;
    out.pci_address = Text(in.pci_address);
    out.numa_node = std::max(in.numa_node, -1);
    out.mode = ModeOf(in.compute_mode);
    out.mps = in.mps != 0;
    inventory.devices.push_back(std::move(out));
  }
  return inventory;
}

// Returns OpenPlugin's status code for a fault of the plug-in's file.
absl::StatusCode CodeOf(ElfFault fault) {
  switch (fault) {
    case ElfFault::kNone:
      return absl::StatusCode::kOk;
    case ElfFault::kMissing:
      return absl::StatusCode::kNotFound;
    case ElfFault::kUnreadable:
      return absl::StatusCode::kPermissionDenied;
    case ElfFault::kUnfit:
      break;
  }
  return absl::StatusCode::kFailedPrecondition;
}

// Finds the plug-in's table, and checks its version before anything else in it.
absl::StatusOr<const Plugin*> FindPlugin(const std::string& path,
                                         void* library) {
  auto* const entry =
      reinterpret_cast<PluginEntry*>(dlsym(library, kPluginSymbol));
  const Plugin* const plugin = entry == nullptr ? nullptr : entry();
  if (plugin == nullptr) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " is not a GPU plug-in of Forebay: it has no ", kPluginSymbol));
  }
  if (plugin->version != kPluginVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        path, " has version ", plugin->version,
        " of the GPU plug-in's interface, but this daemon needs version ",
        kPluginVersion, ": install both from the same build"));
  }
  return plugin;
}

// Asks the plug-in for the host's GPUs.
absl::StatusOr<Inventory> Describe(const std::string& path,
                                   const Plugin& plugin) {
  PluginHost host = {};
  std::vector<PluginDevice> devices(kMaxDevices);
  char why[kWhyBytes] = {};
  if (plugin.describe(&host, devices.data(), kMaxDevices, why, sizeof(why)) !=
      0) {
    return absl::UnavailableError(
        why[0] == '\0' ? absl::StrCat(path, " failed without a reason")
                       : Text(why));
  }
  if (host.device_count == 0) {
    return absl::UnavailableError("the driver shows this process no GPU");
  }
  if (host.device_count < 0 || host.device_count > kMaxDevices) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, " claims to see ", host.device_count, " GPUs"));
  }
  return ToInventory(host, devices);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Driver>> OpenPlugin(const std::string& path) {
  const ElfVerdict image = CheckElfImage(path);
  if (image.fault != ElfFault::kNone)
    return absl::Status(CodeOf(image.fault), image.why);
  Library library(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE));
  if (library == nullptr) {
    const char* const reason = dlerror();
    return absl::FailedPreconditionError(
        absl::StrCat("the GPU plug-in cannot be loaded: ",
                     reason == nullptr ? path : reason));
  }
  const absl::StatusOr<const Plugin*> plugin = FindPlugin(path, library.get());
  if (!plugin.ok()) return plugin.status();
  absl::StatusOr<Inventory> inventory = Describe(path, **plugin);
  if (!inventory.ok()) return inventory.status();
  return std::make_unique<PluginDriver>(std::move(library), **plugin,
                                        *std::move(inventory));
}

}  // namespace forebay::cuda
