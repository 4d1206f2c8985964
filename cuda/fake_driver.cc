#include "cuda/fake_driver.h"

#include <cstdint>
#include <iterator>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "cuda/fake_gpu.h"

namespace forebay::cuda {

FakeDriver::FakeDriver(int devices) {
  inventory_.driver_version = "1.2.3";
  inventory_.cuda_version = "12.4";
  for (int i = 0; i < devices; ++i) {
    DeviceInfo device;
    device.ordinal = i;
    device.uuid = absl::StrFormat("00000000-0000-0000-0000-%012x", i);
    device.name = "Fake GPU";
    device.memory_bytes = std::uint64_t{16} << 30;
    device.compute_major = 8;
    device.pci_address = absl::StrFormat("0000:%02x:00.0", i + 1);
    device.numa_node = i / 2;
    inventory_.devices.push_back(std::move(device));
  }
}

absl::StatusOr<std::unique_ptr<Gpu>> FakeDriver::Open(int ordinal) {
  if (ordinal < 0 || ordinal >= std::ssize(inventory_.devices))
    return absl::NotFoundError(absl::StrCat("there is no GPU ", ordinal));
  return std::make_unique<FakeGpu>(inventory_.devices[ordinal].memory_bytes);
}

}  // namespace forebay::cuda
