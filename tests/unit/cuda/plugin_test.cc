#include "cuda/plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace forebay::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Built(const std::string& name) {
  return "tests/unit/cuda/" + name + ".so";
}

// Opens what must fail in the given way; what it says.
std::string Refusal(const std::string& path, absl::StatusCode code) {
  const auto driver = OpenPlugin(path);
  EXPECT_EQ(driver.status().code(), code) << driver.status();
  return std::string(driver.status().message());
}

class PluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "plugin";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/libforebay_cuda.so";
  }

  std::string folder_;
  std::string path_;
};

TEST_F(PluginTest, AGoodOneDescribesTheHost) {
  const auto driver = OpenPlugin(Built("good_plugin"));
  ASSERT_TRUE(driver.ok()) << driver.status();
  const Inventory& inventory = (*driver)->inventory();
  EXPECT_EQ(inventory.absence, "");
  EXPECT_EQ(inventory.driver_version, "580.65.06");
  EXPECT_EQ(inventory.cuda_version, "13.2");
  ASSERT_EQ(inventory.devices.size(), 2);
  const DeviceInfo& second = inventory.devices[1];
  EXPECT_EQ(second.ordinal, 1);
  EXPECT_EQ(second.uuid, "01234567-89ab-cdef-0123-456789012341");
  EXPECT_EQ(second.name, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(second.memory_bytes, std::uint64_t{80} << 30);
  EXPECT_EQ(second.compute_major, 9);
  EXPECT_EQ(second.compute_minor, 0);
  EXPECT_EQ(second.pci_address, "0000:65:00.1");
  EXPECT_EQ(second.numa_node, 0);
  EXPECT_EQ(second.mode, ComputeMode::kExclusive);
  EXPECT_TRUE(second.mps);
  EXPECT_EQ(inventory.devices[0].numa_node, -1);
  EXPECT_EQ(inventory.devices[0].mode, ComputeMode::kShared);
  EXPECT_FALSE(inventory.devices[0].mps);
}

TEST_F(PluginTest, OneOfAnotherVersionIsRefused) {
  const std::string path = Built("newer_plugin");
  EXPECT_EQ(Refusal(path, absl::StatusCode::kFailedPrecondition),
            path +
                " has version 4 of the GPU plug-in's interface, but this "
                "daemon needs version 3: install both from the same build");
}

TEST_F(PluginTest, AnotherLibraryIsRefused) {
  const std::string path = Built("stranger");
  EXPECT_EQ(
      Refusal(path, absl::StatusCode::kFailedPrecondition),
      path + " is no GPU plug-in of Forebay: it has no forebay_cuda_plugin");
}

TEST_F(PluginTest, ALibraryThatLacksSomethingIsRefused) {
  EXPECT_THAT(
      Refusal(Built("needy_plugin"), absl::StatusCode::kFailedPrecondition),
      AllOf(StartsWith("the GPU plug-in cannot be loaded: "),
            HasSubstr("forebay_nobody_has_this")));
}

TEST_F(PluginTest, WhatTheDriverSaysIsHandedOn) {
  EXPECT_EQ(Refusal(Built("refusing_plugin"), absl::StatusCode::kUnavailable),
            "the driver?is on holiday");
  EXPECT_EQ(Refusal(Built("silent_plugin"), absl::StatusCode::kUnavailable),
            Built("silent_plugin") + " failed without a reason");
}

TEST_F(PluginTest, WhatItSaysIsNotTrusted) {
  EXPECT_EQ(
      Refusal(Built("boasting_plugin"), absl::StatusCode::kFailedPrecondition),
      Built("boasting_plugin") + " claims to see 257 GPUs");
  const auto untidy = OpenPlugin(Built("untidy_plugin"));
  ASSERT_TRUE(untidy.ok()) << untidy.status();
  const Inventory& inventory = (*untidy)->inventory();
  EXPECT_EQ(inventory.driver_version, std::string(64, '?'));
  EXPECT_EQ(inventory.devices.at(0).name, std::string(256, '\xFF'));
  EXPECT_EQ(inventory.devices.at(0).numa_node, -1);
}

TEST_F(PluginTest, AFileThatIsNotThereIsNamed) {
  EXPECT_EQ(Refusal(path_, absl::StatusCode::kNotFound),
            path_ + " is not there");
  EXPECT_EQ(Refusal("", absl::StatusCode::kNotFound), " is not there");
}

TEST_F(PluginTest, WhatIsNoLibraryIsRefused) {
  for (const std::string& content :
       {std::string(), std::string("\x7F"),
        std::string("\x7F"
                    "ELF"),
        std::string("#!/bin/sh\nexit 0\n"), std::string(100'000, '\0'),
        // An ELF file of 32 bits.
        std::string("\x7F"
                    "ELF\1\1\1",
                    7) +
            std::string(1000, '\0')}) {
    std::ofstream(path_, std::ios::binary) << content;
    EXPECT_EQ(Refusal(path_, absl::StatusCode::kFailedPrecondition),
              path_ + " is no shared library");
  }
  std::filesystem::remove(path_);
  EXPECT_EQ(Refusal(folder_, absl::StatusCode::kFailedPrecondition),
            folder_ + " is not a regular file");
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_EQ(Refusal(path_, absl::StatusCode::kFailedPrecondition),
            path_ + " is not a regular file");
}

// The loader itself would die of SIGBUS with some of these.
TEST_F(PluginTest, ALibraryThatWasCutShortIsRefused) {
  const std::string whole = Built("good_plugin");
  // Far from whole, however much of it is debugging information.
  for (const std::uintmax_t part : {64, 100, 500, 1000, 2000}) {
    std::filesystem::copy_file(
        whole, path_, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    std::filesystem::resize_file(path_, part);
    EXPECT_EQ(Refusal(path_, absl::StatusCode::kFailedPrecondition),
              path_ + " is cut short");
  }
}

TEST_F(PluginTest, ItCanBeOpenedAgainAndTwiceAtOnce) {
  auto first = OpenPlugin(Built("good_plugin"));
  const auto second = OpenPlugin(Built("good_plugin"));
  ASSERT_TRUE(first.ok() && second.ok());
  first->reset();
  EXPECT_EQ((*second)->inventory().devices.size(), 2);
  EXPECT_TRUE(OpenPlugin(Built("good_plugin")).ok());
}

}  // namespace
}  // namespace forebay::cuda
