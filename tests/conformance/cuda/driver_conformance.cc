#include "tests/conformance/cuda/driver_conformance.h"

#include <set>
#include <string>
#include <thread>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::cuda {
namespace {

using tests::Contains;
using tests::MatchesRegex;

SUITE_CASE(DriverConformance, "A GPU driver has devices or says why not",
           "[cuda][driver_conformance]") {
  const Inventory& inventory = driver_->inventory();
  CHECK(inventory.absence.empty() == !inventory.devices.empty());
  if (inventory.absence.empty()) return;
  CHECK_THAT(inventory.absence, !Contains('\n'));
  UNSCOPED_INFO("others end the sentence");
  CHECK(inventory.absence.back() != '.');
}

SUITE_CASE(DriverConformance,
           "A GPU driver's devices are in the order of their ordinals",
           "[cuda][driver_conformance]") {
  int ordinal = 0;
  for (const DeviceInfo& device : driver_->inventory().devices) {
    CHECK(device.ordinal == ordinal++);
  }
}

SUITE_CASE(DriverConformance, "A GPU driver's devices have an identity each",
           "[cuda][driver_conformance]") {
  std::set<std::string> uuids;
  for (const DeviceInfo& device : driver_->inventory().devices) {
    CHECK_THAT(device.uuid, MatchesRegex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-"
                                         "[0-9a-f]{12}"));
    UNSCOPED_INFO(device.uuid << ": twice");
    CHECK(uuids.insert(device.uuid).second);
    CHECK_THAT(device.pci_address,
               MatchesRegex("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]"));
  }
}

SUITE_CASE(DriverConformance, "A GPU driver describes its devices",
           "[cuda][driver_conformance]") {
  for (const DeviceInfo& device : driver_->inventory().devices) {
    CHECK_FALSE(device.name.empty());
    CHECK(device.memory_bytes > std::uint64_t{1} << 20);
    CHECK(device.compute_major >= 1);
    CHECK(device.compute_minor >= 0);
    CHECK(device.numa_node >= -1);
  }
  if (driver_->inventory().devices.empty()) return;
  CHECK_THAT(driver_->inventory().cuda_version, MatchesRegex("[0-9]+\\.[0-9]"));
}

SUITE_CASE(DriverConformance,
           "Every thread sees the same inventory of a GPU driver",
           "[cuda][driver_conformance]") {
  const Inventory* const mine = &driver_->inventory();
  std::vector<const Inventory*> theirs(4);
  std::vector<std::jthread> threads;
  for (const Inventory*& seen : theirs) {
    threads.emplace_back([&] { seen = &driver_->inventory(); });
  }
  for (std::jthread& thread : threads) thread.join();
  for (const Inventory* const seen : theirs) CHECK(seen == mine);
}

}  // namespace
}  // namespace forebay::cuda
