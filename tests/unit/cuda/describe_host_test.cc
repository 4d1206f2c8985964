#include "cuda/describe_host.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "cuda/driver_api.h"
#include "tests/unit/cuda/fake_libcuda.h"

namespace forebay::cuda {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kFake[] = "tests/unit/cuda/fake_libcuda.so";

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
    std::string why;
    ASSERT_TRUE(LoadDriverApi(kFake, &api_, &why)) << why;
    void* const library = dlopen(kFake, RTLD_NOW | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr);
    driver_ = reinterpret_cast<FakeLibcuda* (*)()>(
        dlsym(library, "forebay_fake_libcuda"))();
    dlclose(library);
    *driver_ = {};
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

  bool Describe() {
    return DescribeHost(api_, sys_, &host_, devices_.data(),
                        static_cast<int>(devices_.size()), &why_);
  }

  DriverApi api_;
  FakeLibcuda* driver_ = nullptr;
  std::string sys_;
  PluginHost host_ = {};
  std::vector<PluginDevice> devices_ = std::vector<PluginDevice>(4);
  std::string why_;
};

TEST_F(DescribeHostTest, DescribesEveryDevice) {
  ASSERT_TRUE(Describe()) << why_;
  EXPECT_STREQ(host_.driver_version, "535.183.01");
  EXPECT_EQ(host_.cuda_version, 12040);
  ASSERT_EQ(host_.device_count, 2);
  EXPECT_STREQ(devices_[1].name, "Fake 1");
  EXPECT_STREQ(devices_[1].uuid, "f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfe65");
  EXPECT_STREQ(devices_[1].pci_address, "0000:0d:00.0");
  EXPECT_EQ(devices_[1].memory_bytes, std::uint64_t{16} << 30);
  EXPECT_EQ(devices_[1].compute_major, 8);
  EXPECT_EQ(devices_[1].compute_minor, 6);
  EXPECT_EQ(devices_[1].numa_node, 1);
  EXPECT_EQ(devices_[0].numa_node, -1);
  EXPECT_STREQ(devices_[0].name, "Fake 0");
}

TEST_F(DescribeHostTest, WhatTheKernelDoesNotTellStaysUnknown) {
  std::filesystem::remove_all(sys_);
  ASSERT_TRUE(Describe()) << why_;
  EXPECT_STREQ(host_.driver_version, "");
  EXPECT_EQ(devices_[1].numa_node, -1);
}

TEST_F(DescribeHostTest, WritesNoFurtherThanItMay) {
  driver_->devices = 5;
  devices_.resize(5);
  devices_[4].numa_node = 77;
  ASSERT_TRUE(DescribeHost(api_, sys_, &host_, devices_.data(), 4, &why_));
  EXPECT_EQ(host_.device_count, 5);
  EXPECT_EQ(devices_[4].numa_node, 77);
}

TEST_F(DescribeHostTest, HandsOnTheDriversOwnWords) {
  driver_->init_result = CUDA_ERROR_NO_DEVICE;
  EXPECT_FALSE(Describe());
  EXPECT_EQ(why_,
            "the NVIDIA driver finds no GPU (CUDA_ERROR_NO_DEVICE: no "
            "CUDA-capable device is detected)");
  driver_->init_result = CUDA_ERROR_SYSTEM_NOT_READY;  // a name, and no text
  EXPECT_FALSE(Describe());
  EXPECT_EQ(why_,
            "the NVIDIA driver does not work (CUDA_ERROR_SYSTEM_NOT_READY)");
  driver_->init_result = CUDA_SUCCESS;
  driver_->count_result = CUDA_ERROR_UNKNOWN;  // newer than the driver's names
  EXPECT_FALSE(Describe());
  EXPECT_EQ(why_, "the NVIDIA driver does not work (error 999)");
}

TEST_F(DescribeHostTest, NamesTheDeviceThatFails) {
  driver_->memory_result = CUDA_ERROR_NO_DEVICE;
  EXPECT_FALSE(Describe());
  EXPECT_THAT(why_, AllOf(StartsWith("the NVIDIA driver cannot describe GPU 1"),
                          HasSubstr("CUDA_ERROR_NO_DEVICE")));
}

}  // namespace
}  // namespace forebay::cuda
