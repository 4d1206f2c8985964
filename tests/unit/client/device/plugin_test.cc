#include "client/device/plugin.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>

namespace forebay::client::device {
namespace {

namespace fs = std::filesystem;

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string Built(const std::string& name) {
  return "tests/unit/cuda/" + name + ".so";
}

// Loads what must not be loaded; what it says.
std::string Refusal(const std::string& path) {
  const cuda::Plugin* plugin = nullptr;
  const Status status = OpenPlugin(path, &plugin);
  EXPECT_EQ(status.code, FOREBAY_UNIMPLEMENTED);
  EXPECT_EQ(plugin, nullptr);
  return status.message;
}

TEST(OpenPluginTest, AGoodOneIsLoaded) {
  const cuda::Plugin* plugin = nullptr;
  const Status status = OpenPlugin(Built("good_plugin"), &plugin);
  ASSERT_TRUE(status.ok()) << status.message;
  EXPECT_EQ(plugin->version, cuda::kPluginVersion);
}

TEST(OpenPluginTest, OneOfAnotherVersionIsRefused) {
  const std::string path = Built("newer_plugin");
  EXPECT_EQ(Refusal(path),
            path +
                " has version 4 of the GPU plug-in's interface, but "
                "libforebay.so needs version 3: upgrade the older of the two");
}

TEST(OpenPluginTest, WhatIsNoPluginIsRefused) {
  EXPECT_EQ(Refusal("/nowhere/libforebay_cuda.so"),
            "the GPU plug-in /nowhere/libforebay_cuda.so is not there");
  EXPECT_EQ(Refusal(Built("stranger")),
            Built("stranger") +
                " is no GPU plug-in of Forebay: it has no forebay_cuda_plugin");
  EXPECT_THAT(Refusal(Built("needy_plugin")),
              AllOf(StartsWith("the GPU plug-in cannot be loaded: "),
                    HasSubstr("forebay_nobody_has_this")));
  const std::string pipe = testing::TempDir() + "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(Refusal(pipe),
            "the GPU plug-in " + pipe + " is not a regular file");
}

TEST(OpenPluginTest, OneThatWasCutShortIsRefused) {
  const std::string whole = Built("good_plugin");
  const std::string path = testing::TempDir() + "cut.so";
  for (const std::uintmax_t size : {100, 2000}) {
    fs::copy_file(whole, path, fs::copy_options::overwrite_existing);
    fs::permissions(path, fs::perms::owner_all);
    fs::resize_file(path, size);
    EXPECT_EQ(Refusal(path), "the GPU plug-in " + path + " is cut short");
  }
  fs::resize_file(path, 0);
  EXPECT_EQ(Refusal(path), "the GPU plug-in " + path + " is no shared library");
}

// An installed library, alone in a tree of its own: it has loaded nothing yet.
class LoadPluginTest : public ::testing::Test {
 protected:
  void SetUp() override {
    unsetenv("FOREBAY_CUDA_PLUGIN");
    // Of its own, as the libraries of earlier tests stay loaded.
    root_ = testing::TempDir() +
            testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(root_);
    fs::create_directories(root_);
    root_ = fs::canonical(root_);
  }
  void TearDown() override {
    // The library stays loaded: so does what it keeps for good.
    unsetenv("FOREBAY_CUDA_PLUGIN");
  }

  // Puts a built file into the tree.
  void Install(const std::string& built, const std::string& path) {
    const fs::path to = root_ + "/" + path;
    fs::create_directories(to.parent_path());
    fs::copy_file(built, to);
  }
  void InstallLibrary(const std::string& path) {
    Install("tests/unit/client/device/plugin_user.so", path);
  }
  void InstallPlugin(const std::string& path) {
    Install(Built("good_plugin"), path);
  }

  // Loads the plug-in as the library at `path` does; what it says.
  std::string Load(const std::string& path) {
    if (library_ == nullptr)
      library_ = dlopen((root_ + "/" + path).c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) return dlerror();
    auto* const load = reinterpret_cast<const char* (*)()>(
        dlsym(library_, "forebay_test_load_plugin"));
    return load == nullptr ? "no such function" : load();
  }

  std::string root_;
  void* library_ = nullptr;
};

TEST_F(LoadPluginTest, LiesBesideTheLibraryInAWheel) {
  InstallLibrary("site-packages/forebay/libforebay.so");
  InstallPlugin("site-packages/forebay/libforebay_cuda.so");
  EXPECT_EQ(Load("site-packages/forebay/libforebay.so"), "");
}

TEST_F(LoadPluginTest, LiesInLibForebayBelowAPrefix) {
  InstallLibrary("usr/lib/libforebay.so");
  InstallPlugin("usr/lib/forebay/libforebay_cuda.so");
  EXPECT_EQ(Load("usr/lib/libforebay.so"), "");
}

TEST_F(LoadPluginTest, IsFoundThroughThePackagesLinkToTheLibrary) {
  InstallLibrary("usr/lib/libforebay.so");
  InstallPlugin("usr/lib/forebay/libforebay_cuda.so");
  const std::string package = root_ + "/usr/lib/python3/dist-packages/forebay";
  fs::create_directories(package);
  fs::create_symlink("../../../libforebay.so", package + "/libforebay.so");
  EXPECT_EQ(Load("usr/lib/python3/dist-packages/forebay/libforebay.so"), "");
}

TEST_F(LoadPluginTest, SaysWhereItIsNot) {
  InstallLibrary("usr/lib/libforebay.so");
  EXPECT_EQ(Load("usr/lib/libforebay.so"),
            "no GPU plug-in is installed: there is neither " + root_ +
                "/usr/lib/libforebay_cuda.so nor " + root_ +
                "/usr/lib/forebay/libforebay_cuda.so, and FOREBAY_CUDA_PLUGIN "
                "is not set");
  // It may be installed meanwhile.
  InstallPlugin("usr/lib/forebay/libforebay_cuda.so");
  EXPECT_EQ(Load("usr/lib/libforebay.so"), "");
}

TEST_F(LoadPluginTest, TheVariableComesFirstAndOnce) {
  InstallLibrary("lib/libforebay.so");
  InstallPlugin("lib/libforebay_cuda.so");
  setenv("FOREBAY_CUDA_PLUGIN", Built("newer_plugin").c_str(), 1);
  EXPECT_THAT(Load("lib/libforebay.so"), HasSubstr("has version 4"));
  setenv("FOREBAY_CUDA_PLUGIN", Built("good_plugin").c_str(), 1);
  EXPECT_EQ(Load("lib/libforebay.so"), "");
  setenv("FOREBAY_CUDA_PLUGIN", "none.so", 1);
  EXPECT_EQ(Load("lib/libforebay.so"), "");
}

TEST_F(LoadPluginTest, ANameInTheVariableIsAFileHere) {
  InstallLibrary("lib/libforebay.so");
  setenv("FOREBAY_CUDA_PLUGIN", "none.so", 1);
  EXPECT_EQ(Load("lib/libforebay.so"),
            "the GPU plug-in ./none.so is not there");
}

}  // namespace
}  // namespace forebay::client::device
