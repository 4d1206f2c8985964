#include "cuda/plugin.h"

#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/temp_dir.h"

namespace forebay::cuda {
namespace {

using tests::AllOf;
using tests::Contains;
using tests::HasCode;
using tests::IsOk;
using tests::StartsWith;

std::string Built(const std::string& name) {
  return "tests/unit/cuda/" + name + ".so";
}

// Opens a plug-in that must be refused with `code`. Returns the message of the
// refusal.
std::string Refusal(const std::string& path, absl::StatusCode code) {
  const auto driver = OpenPlugin(path);
  CHECK_THAT(driver, HasCode(code));
  return std::string(driver.status().message());
}

class PluginTest {
 protected:
  PluginTest() {
    folder_ = tests::TempDir() + "plugin";
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/libforebay_cuda.so";
  }

  std::string folder_;
  std::string path_;
};

TEST_CASE_METHOD(PluginTest,
                 "A good GPU plug-in describes the host to the daemon",
                 "[cuda][plugin]") {
  const auto driver = OpenPlugin(Built("good_plugin"));
  REQUIRE_THAT(driver, IsOk());
  const Inventory& inventory = (*driver)->inventory();
  CHECK_THAT(inventory.absence, Catch::Equals(""));
  CHECK(inventory.driver_version == "580.65.06");
  CHECK(inventory.cuda_version == "13.2");
  REQUIRE(inventory.devices.size() == 2);
  const DeviceInfo& second = inventory.devices[1];
  CHECK(second.ordinal == 1);
  CHECK(second.uuid == "01234567-89ab-cdef-0123-456789012341");
  CHECK(second.name == "NVIDIA H100 80GB HBM3");
  CHECK(second.memory_bytes == std::uint64_t{80} << 30);
  CHECK(second.compute_major == 9);
  CHECK(second.compute_minor == 0);
  CHECK(second.pci_address == "0000:65:00.1");
  CHECK(second.numa_node == 0);
  CHECK(second.mode == ComputeMode::kExclusive);
  CHECK(second.mps);
  CHECK(inventory.devices[0].numa_node == -1);
  CHECK(inventory.devices[0].mode == ComputeMode::kShared);
  CHECK_FALSE(inventory.devices[0].mps);
}

TEST_CASE_METHOD(PluginTest,
                 "The daemon refuses a GPU plug-in of another version",
                 "[cuda][plugin]") {
  const std::string path = Built("newer_plugin");
  CHECK(Refusal(path, absl::StatusCode::kFailedPrecondition) ==
        path +
            " has version 4 of the GPU plug-in's interface, but this "
            "daemon needs version 3: install both from the same build");
}

TEST_CASE_METHOD(PluginTest,
                 "The daemon refuses another library as a GPU plug-in",
                 "[cuda][plugin]") {
  const std::string path = Built("foreign");
  CHECK(Refusal(path, absl::StatusCode::kFailedPrecondition) ==
        path +
            " is not a GPU plug-in of Forebay: it has no forebay_cuda_plugin");
}

TEST_CASE_METHOD(PluginTest,
                 "The daemon refuses a GPU plug-in that lacks a symbol",
                 "[cuda][plugin]") {
  CHECK_THAT(
      Refusal(Built("needy_plugin"), absl::StatusCode::kFailedPrecondition),
      AllOf(StartsWith("the GPU plug-in cannot be loaded: "),
            Contains("forebay_nobody_has_this")));
}

TEST_CASE_METHOD(
    PluginTest,
    "The daemon hands on what the driver says through a GPU plug-in",
    "[cuda][plugin]") {
  CHECK(Refusal(Built("refusing_plugin"), absl::StatusCode::kUnavailable) ==
        "the driver?is on holiday");
  CHECK(Refusal(Built("silent_plugin"), absl::StatusCode::kUnavailable) ==
        Built("silent_plugin") + " failed without a reason");
}

TEST_CASE_METHOD(PluginTest,
                 "The daemon does not trust what a GPU plug-in says",
                 "[cuda][plugin]") {
  CHECK(Refusal(Built("boasting_plugin"),
                absl::StatusCode::kFailedPrecondition) ==
        Built("boasting_plugin") + " claims to see 257 GPUs");
  const auto untidy = OpenPlugin(Built("untidy_plugin"));
  REQUIRE_THAT(untidy, IsOk());
  const Inventory& inventory = (*untidy)->inventory();
  CHECK(inventory.driver_version == std::string(64, '?'));
  CHECK(inventory.devices.at(0).name == std::string(256, '\xFF'));
  CHECK(inventory.devices.at(0).numa_node == -1);
}

TEST_CASE_METHOD(PluginTest,
                 "The daemon names a GPU plug-in's file that is not there",
                 "[cuda][plugin]") {
  CHECK(Refusal(path_, absl::StatusCode::kNotFound) == path_ + " is not there");
  CHECK(Refusal("", absl::StatusCode::kNotFound) == " is not there");
}

TEST_CASE_METHOD(PluginTest,
                 "The daemon refuses a GPU plug-in that is not a library",
                 "[cuda][plugin]") {
  for (const std::string& content :
       {std::string(), std::string("\x7F"),
        std::string("\x7F"
                    "ELF"),
        std::string("#!/bin/sh\nexit 0\n"), std::string(100'000, '\0'),
        // The header of a 32-bit ELF file.
        std::string("\x7F"
                    "ELF\1\1\1",
                    7) +
            std::string(1000, '\0')}) {
    std::ofstream(path_, std::ios::binary) << content;
    CHECK(Refusal(path_, absl::StatusCode::kFailedPrecondition) ==
          path_ + " is not a shared library");
  }
  std::filesystem::remove(path_);
  CHECK(Refusal(folder_, absl::StatusCode::kFailedPrecondition) ==
        folder_ + " is not a regular file");
  REQUIRE(mkfifo(path_.c_str(), 0600) == 0);
  CHECK(Refusal(path_, absl::StatusCode::kFailedPrecondition) ==
        path_ + " is not a regular file");
}

// The dynamic loader itself would die of SIGBUS with some of these files.
TEST_CASE_METHOD(PluginTest,
                 "The daemon refuses a GPU plug-in that was cut short",
                 "[cuda][plugin]") {
  const std::string whole = Built("good_plugin");
  // All these sizes cut off needed parts, even if most of the file is debugging
  // information.
  for (const std::uintmax_t part : {64, 100, 500, 1000, 2000}) {
    std::filesystem::copy_file(
        whole, path_, std::filesystem::copy_options::overwrite_existing);
    std::filesystem::permissions(path_, std::filesystem::perms::owner_all);
    std::filesystem::resize_file(path_, part);
    CHECK(Refusal(path_, absl::StatusCode::kFailedPrecondition) ==
          path_ + " is cut short");
  }
}

TEST_CASE_METHOD(PluginTest,
                 "The daemon can open a GPU plug-in again and twice at once",
                 "[cuda][plugin]") {
  auto first = OpenPlugin(Built("good_plugin"));
  const auto second = OpenPlugin(Built("good_plugin"));
  REQUIRE_THAT(first, IsOk());
  REQUIRE_THAT(second, IsOk());
  first->reset();
  CHECK((*second)->inventory().devices.size() == 2);
  CHECK_THAT(OpenPlugin(Built("good_plugin")), IsOk());
}

}  // namespace
}  // namespace forebay::cuda
