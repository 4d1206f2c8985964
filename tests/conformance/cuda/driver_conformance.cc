#include "tests/conformance/cuda/driver_conformance.h"

#include <gmock/gmock.h>

#include <set>
#include <string>
#include <thread>
#include <vector>

namespace forebay::cuda {
namespace {

using ::testing::MatchesRegex;

TEST_P(DriverConformanceTest, HasDevicesOrSaysWhyNot) {
  const Inventory& inventory = driver_->inventory();
  EXPECT_EQ(inventory.absence.empty(), !inventory.devices.empty());
  if (inventory.absence.empty()) return;
  EXPECT_EQ(inventory.absence.find('\n'), std::string::npos);
  EXPECT_NE(inventory.absence.back(), '.') << "others end the sentence";
}

TEST_P(DriverConformanceTest, DevicesAreInOrder) {
  int ordinal = 0;
  for (const DeviceInfo& device : driver_->inventory().devices) {
    EXPECT_EQ(device.ordinal, ordinal++);
  }
}

TEST_P(DriverConformanceTest, DevicesHaveAnIdentity) {
  std::set<std::string> uuids;
  for (const DeviceInfo& device : driver_->inventory().devices) {
    EXPECT_THAT(device.uuid, MatchesRegex("[0-9a-f]{8}(-[0-9a-f]{4}){3}-"
                                          "[0-9a-f]{12}"));
    EXPECT_TRUE(uuids.insert(device.uuid).second) << device.uuid << ": twice";
    EXPECT_THAT(device.pci_address,
                MatchesRegex("[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\\.[0-7]"));
  }
}

TEST_P(DriverConformanceTest, DevicesAreDescribed) {
  for (const DeviceInfo& device : driver_->inventory().devices) {
    EXPECT_NE(device.name, "");
    EXPECT_GT(device.memory_bytes, std::uint64_t{1} << 20);
    EXPECT_GE(device.compute_major, 1);
    EXPECT_GE(device.compute_minor, 0);
    EXPECT_GE(device.numa_node, -1);
  }
  if (driver_->inventory().devices.empty()) return;
  EXPECT_THAT(driver_->inventory().cuda_version,
              MatchesRegex("[0-9]+\\.[0-9]"));
}

TEST_P(DriverConformanceTest, EveryThreadSeesTheSame) {
  const Inventory* const mine = &driver_->inventory();
  std::vector<const Inventory*> theirs(4);
  std::vector<std::thread> threads;
  for (const Inventory*& seen : theirs) {
    threads.emplace_back([&] { seen = &driver_->inventory(); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Inventory* const seen : theirs) EXPECT_EQ(seen, mine);
}

}  // namespace
}  // namespace forebay::cuda
