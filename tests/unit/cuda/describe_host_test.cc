#include "cuda/describe_host.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "cuda/driver_api.h"
#include "tests/device/scripted_gpus.h"

namespace forebay::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kFake[] = "tests/device/fake_libcuda/libcuda.so.1";

TEST(DriverApiTest, SaysThatThereIsNoDriver) {
  DriverApi api;
  std::string why;
  EXPECT_FALSE(LoadDriverApi("libnothing.so.1", &api, &why));
  EXPECT_THAT(why, StartsWith("no NVIDIA driver is installed (libnothing.so.1: "
                              "cannot open"));
}

TEST(DriverApiTest, SaysThatADriverIsTooOld) {
  DriverApi api;
  std::string why;
  EXPECT_FALSE(LoadDriverApi("tests/unit/cuda/stranger.so", &api, &why));
  EXPECT_EQ(why, "the NVIDIA driver is older than 470: it has no cuInit");
}

class DescribeHostTest : public ::testing::Test {
 protected:
  void SetUp() override {
    sys_ = testing::TempDir() + "sys";
    std::filesystem::remove_all(sys_);
    Write("/module/nvidia/version", "535.183.01\n");
    Write("/bus/pci/devices/0000:0c:00.0/numa_node", "-1\n");
    Write("/bus/pci/devices/0000:0d:00.0/numa_node", "1\n");
  }

  void Write(const std::string& file, const std::string& content) {
    const std::filesystem::path path = sys_ + file;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << content;
  }

  // Describes a host that is as the script says, and calls `check(succeeded)`.
  void Describe(const std::string& script,
                const std::function<void(bool)>& check) {
    device_tests::WithGpus(script, [&] {
      DriverApi api;
      ASSERT_TRUE(LoadDriverApi(kFake, &api, &why_)) << why_;
      check(DescribeHost(api, sys_, &host_, devices_.data(),
                         static_cast<int>(devices_.size()), &why_));
    });
  }

  std::string sys_;
  PluginHost host_ = {};
  std::vector<PluginDevice> devices_ = std::vector<PluginDevice>(4);
  std::string why_;
};

constexpr char kTwo[] =
    R"({"driver_version": 12040,
        "gpus": [{"name": "Fake 0"},
                 {"name": "Fake 1", "memory": 17179869184, "minor": 6}]})";

TEST_F(DescribeHostTest, DescribesEveryDevice) {
  Describe(kTwo, [&](bool succeeded) {
    ASSERT_TRUE(succeeded) << why_;
    EXPECT_STREQ(host_.driver_version, "535.183.01");
    EXPECT_EQ(host_.cuda_version, 12040);
    ASSERT_EQ(host_.device_count, 2);
    EXPECT_STREQ(devices_[1].name, "Fake 1");
    EXPECT_STREQ(devices_[1].uuid, "f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfe01");
    EXPECT_STREQ(devices_[1].pci_address, "0000:0d:00.0");
    EXPECT_EQ(devices_[1].memory_bytes, std::uint64_t{16} << 30);
    EXPECT_EQ(devices_[1].compute_major, 8);
    EXPECT_EQ(devices_[1].compute_minor, 6);
    EXPECT_EQ(devices_[1].numa_node, 1);
    EXPECT_EQ(devices_[0].numa_node, -1);
    EXPECT_STREQ(devices_[0].name, "Fake 0");
  });
}

TEST_F(DescribeHostTest, KnowsWhoMayUseADevice) {
  Describe(R"({"mps": true, "gpus": [{"compute_mode": "exclusive_process"}]})",
           [&](bool succeeded) {
             ASSERT_TRUE(succeeded) << why_;
             EXPECT_EQ(devices_[0].compute_mode, 3);
             EXPECT_EQ(devices_[0].mps, 1);
           });
  Describe(R"({"driver_version": 11040, "mps": true, "gpus": [{}]})",
           [&](bool succeeded) {
             ASSERT_TRUE(succeeded) << why_;
             EXPECT_EQ(devices_[0].compute_mode, 0);
             EXPECT_EQ(devices_[0].mps, 0) << "too old to tell";
           });
}

TEST_F(DescribeHostTest, WhatTheKernelDoesNotTellStaysUnknown) {
  std::filesystem::remove_all(sys_);
  Describe(kTwo, [&](bool succeeded) {
    ASSERT_TRUE(succeeded) << why_;
    EXPECT_STREQ(host_.driver_version, "");
    EXPECT_EQ(devices_[1].numa_node, -1);
  });
}

TEST_F(DescribeHostTest, WritesNoFurtherThanItMay) {
  devices_.resize(2);
  devices_[1].numa_node = 77;
  device_tests::WithGpus(R"({"gpus": [{}, {}, {}, {}, {}]})", [&] {
    DriverApi api;
    ASSERT_TRUE(LoadDriverApi(kFake, &api, &why_)) << why_;
    ASSERT_TRUE(DescribeHost(api, sys_, &host_, devices_.data(), 1, &why_));
    EXPECT_EQ(host_.device_count, 5);
    EXPECT_EQ(devices_[1].numa_node, 77);
  });
}

TEST_F(DescribeHostTest, HandsOnTheDriversOwnWords) {
  Describe(R"({"gpus": []})", [&](bool succeeded) {
    EXPECT_FALSE(succeeded);
    EXPECT_EQ(why_,
              "the NVIDIA driver finds no GPU (CUDA_ERROR_NO_DEVICE: no "
              "CUDA-capable device is detected)");
  });
  Describe(R"({"faults": [{"call": "cuInit",
                           "error": "CUDA_ERROR_SYSTEM_NOT_READY"}]})",
           [&](bool succeeded) {
             EXPECT_FALSE(succeeded);
             EXPECT_EQ(why_,
                       "the NVIDIA driver does not work "
                       "(CUDA_ERROR_SYSTEM_NOT_READY: system not yet "
                       "initialized)");
           });
  // Newer than the driver's names.
  Describe(R"({"faults": [{"call": "cuDeviceGetCount", "error": 12345}]})",
           [&](bool succeeded) {
             EXPECT_FALSE(succeeded);
             EXPECT_EQ(why_, "the NVIDIA driver does not work (error 12345)");
           });
}

TEST_F(DescribeHostTest, NamesTheDeviceThatFails) {
  Describe(R"({"gpus": [{}, {}],
               "faults": [{"call": "cuDeviceTotalMem", "first": 2,
                           "error": "CUDA_ERROR_NO_DEVICE"}]})",
           [&](bool succeeded) {
             EXPECT_FALSE(succeeded);
             EXPECT_THAT(
                 why_,
                 AllOf(StartsWith("the NVIDIA driver cannot describe GPU 1"),
                       HasSubstr("CUDA_ERROR_NO_DEVICE")));
           });
}

}  // namespace
}  // namespace forebay::cuda
