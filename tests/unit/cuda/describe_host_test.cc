#include "cuda/describe_host.h"

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include "cuda/driver_api.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/temp_dir.h"
#include "tests/device/scripted_gpus.h"

namespace forebay::cuda {
namespace {

using tests::AllOf;
using tests::Contains;
using tests::StartsWith;

constexpr char kFake[] = "tests/device/fake_libcuda/libcuda.so.1";

TEST_CASE("The driver API says that the host has no NVIDIA driver",
          "[cuda][describe_host]") {
  DriverApi api;
  std::string why;
  CHECK_FALSE(LoadDriverApi("libnothing.so.1", &api, &why));
  CHECK_THAT(why, StartsWith("no NVIDIA driver is installed (libnothing.so.1: "
                             "cannot open"));
}

TEST_CASE("The driver API says that an NVIDIA driver is too old",
          "[cuda][describe_host]") {
  DriverApi api;
  std::string why;
  CHECK_FALSE(LoadDriverApi("tests/unit/cuda/foreign.so", &api, &why));
  CHECK(why == "the NVIDIA driver is older than 470: it has no cuInit");
}

class DescribeHostTest {
 protected:
  DescribeHostTest() {
    sys_ = tests::TempDir() + "sys";
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

  // Runs DescribeHost on a host as in `script`, and calls `check(succeeded)`.
  void Describe(const std::string& script,
                const std::function<void(bool)>& check) {
    device_tests::WithGpus(script, [&] {
      DriverApi api;
      const bool loaded = LoadDriverApi(kFake, &api, &why_);
      CAPTURE(why_);
      REQUIRE(loaded);
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

TEST_CASE_METHOD(DescribeHostTest,
                 "The description of a host describes every GPU",
                 "[cuda][describe_host]") {
  Describe(kTwo, [&](bool succeeded) {
    CAPTURE(why_);
    REQUIRE(succeeded);
    CHECK(std::string_view(host_.driver_version) == "535.183.01");
    CHECK(host_.cuda_version == 12040);
    REQUIRE(host_.device_count == 2);
    CHECK(std::string_view(devices_[1].name) == "Fake 1");
    CHECK(std::string_view(devices_[1].uuid) ==
          "f0f1f2f3-f4f5-f6f7-f8f9-fafbfcfdfe01");
    CHECK(std::string_view(devices_[1].pci_address) == "0000:0d:00.0");
    CHECK(devices_[1].memory_bytes == std::uint64_t{16} << 30);
    CHECK(devices_[1].compute_major == 8);
    CHECK(devices_[1].compute_minor == 6);
    CHECK(devices_[1].numa_node == 1);
    CHECK(devices_[0].numa_node == -1);
    CHECK(std::string_view(devices_[0].name) == "Fake 0");
  });
}

TEST_CASE_METHOD(DescribeHostTest,
                 "The description of a host knows who may use a GPU",
                 "[cuda][describe_host]") {
  Describe(R"({"mps": true, "gpus": [{"compute_mode": "exclusive_process"}]})",
           [&](bool succeeded) {
             CAPTURE(why_);
             REQUIRE(succeeded);
             CHECK(devices_[0].compute_mode == 3);
             CHECK(devices_[0].mps == 1);
           });
  Describe(R"({"driver_version": 11040, "mps": true, "gpus": [{}]})",
           [&](bool succeeded) {
             CAPTURE(why_);
             REQUIRE(succeeded);
             CHECK(devices_[0].compute_mode == 0);
             UNSCOPED_INFO("too old to tell");
             CHECK(devices_[0].mps == 0);
           });
}

TEST_CASE_METHOD(DescribeHostTest,
                 "What the kernel does not tell of a host's GPUs stays unknown",
                 "[cuda][describe_host]") {
  std::filesystem::remove_all(sys_);
  Describe(kTwo, [&](bool succeeded) {
    CAPTURE(why_);
    REQUIRE(succeeded);
    CHECK(std::string_view(host_.driver_version).empty());
    CHECK(devices_[1].numa_node == -1);
  });
}

TEST_CASE_METHOD(DescribeHostTest,
                 "The description of a host writes no further than it may",
                 "[cuda][describe_host]") {
  devices_.resize(2);
  devices_[1].numa_node = 77;
  device_tests::WithGpus(R"({"gpus": [{}, {}, {}, {}, {}]})", [&] {
    DriverApi api;
    const bool loaded = LoadDriverApi(kFake, &api, &why_);
    const bool described =
        loaded && DescribeHost(api, sys_, &host_, devices_.data(), 1, &why_);
    CAPTURE(why_);
    REQUIRE(described);
    CHECK(host_.device_count == 5);
    CHECK(devices_[1].numa_node == 77);
  });
}

TEST_CASE_METHOD(DescribeHostTest,
                 "The description of a host hands on the driver's own words",
                 "[cuda][describe_host]") {
  Describe(R"({"gpus": []})", [&](bool succeeded) {
    CHECK_FALSE(succeeded);
    CHECK(why_ ==
          "the NVIDIA driver finds no GPU (CUDA_ERROR_NO_DEVICE: no "
          "CUDA-capable device is detected)");
  });
  Describe(R"({"faults": [{"call": "cuInit",
                           "error": "CUDA_ERROR_SYSTEM_NOT_READY"}]})",
           [&](bool succeeded) {
             CHECK_FALSE(succeeded);
             CHECK(why_ ==
                   "the NVIDIA driver does not work "
                   "(CUDA_ERROR_SYSTEM_NOT_READY: system not yet "
                   "initialized)");
           });
  // An error code without a name in this driver is shown as a number.
  Describe(R"({"faults": [{"call": "cuDeviceGetCount", "error": 12345}]})",
           [&](bool succeeded) {
             CHECK_FALSE(succeeded);
             CHECK(why_ == "the NVIDIA driver does not work (error 12345)");
           });
}

TEST_CASE_METHOD(DescribeHostTest,
                 "The description of a host names the GPU that fails",
                 "[cuda][describe_host]") {
  Describe(R"({"gpus": [{}, {}],
               "faults": [{"call": "cuDeviceTotalMem", "first": 2,
                           "error": "CUDA_ERROR_NO_DEVICE"}]})",
           [&](bool succeeded) {
             CHECK_FALSE(succeeded);
             CHECK_THAT(
                 why_,
                 AllOf(StartsWith("the NVIDIA driver cannot describe GPU 1"),
                       Contains("CUDA_ERROR_NO_DEVICE")));
           });
}

}  // namespace
}  // namespace forebay::cuda
