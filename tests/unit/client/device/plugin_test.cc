#include "client/device/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/temp_dir.h"

namespace forebay::client::device {
namespace {

using tests::AllOf;
using tests::Contains;
using tests::IsOk;
using tests::StartsWith;

namespace fs = std::filesystem;

std::string Built(const std::string& name) {
  return "tests/unit/cuda/" + name + ".so";
}

// Opens a plug-in that must be refused, and returns the message.
std::string Refusal(const std::string& path) {
  const cuda::Plugin* plugin = nullptr;
  const Status status = OpenPlugin(path, &plugin);
  CHECK(status.code == FOREBAY_UNIMPLEMENTED);
  CHECK(plugin == nullptr);
  return status.message;
}

TEST_CASE("The client loads a good GPU plug-in", "[device][plugin]") {
  const cuda::Plugin* plugin = nullptr;
  const Status status = OpenPlugin(Built("good_plugin"), &plugin);
  CAPTURE(status.message);
  REQUIRE_THAT(status, IsOk());
  CHECK(plugin->version == cuda::kPluginVersion);
}

TEST_CASE("The client refuses a GPU plug-in of another version",
          "[device][plugin]") {
  const std::string path = Built("newer_plugin");
  CHECK(Refusal(path) ==
        path +
            " has version 4 of the GPU plug-in's interface, but "
            "libforebay.so needs version 3: upgrade the older of the two");
}

TEST_CASE("The client refuses what is not a GPU plug-in", "[device][plugin]") {
  CHECK(Refusal("/nowhere/libforebay_cuda.so") ==
        "the GPU plug-in /nowhere/libforebay_cuda.so is not there");
  CHECK(Refusal(Built("foreign")) ==
        Built("foreign") +
            " is not a GPU plug-in of Forebay: it has no forebay_cuda_plugin");
  CHECK_THAT(Refusal(Built("needy_plugin")),
             AllOf(StartsWith("the GPU plug-in cannot be loaded: "),
                   Contains("forebay_nobody_has_this")));
  const std::string pipe = tests::TempDir() + "pipe";
  REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(Refusal(pipe) == "the GPU plug-in " + pipe + " is not a regular file");
}

TEST_CASE("The client refuses a GPU plug-in that was cut short",
          "[device][plugin]") {
  const std::string whole = Built("good_plugin");
  const std::string path = tests::TempDir() + "cut.so";
  for (const std::uintmax_t size : {100, 2000}) {
    fs::copy_file(whole, path, fs::copy_options::overwrite_existing);
    fs::permissions(path, fs::perms::owner_all);
    fs::resize_file(path, size);
    CHECK(Refusal(path) == "the GPU plug-in " + path + " is cut short");
  }
  fs::resize_file(path, 0);
  CHECK(Refusal(path) ==
        "the GPU plug-in " + path + " is not a shared library");
}

// An installed library in a tree of its own. The library has not loaded the
// plug-in yet.
class LoadPluginTest {
 protected:
  LoadPluginTest() {
    unsetenv("FOREBAY_CUDA_PLUGIN");
    static int trees = 0;
    // Each test has a tree of its own, because libraries of earlier tests stay
    // loaded.
    root_ = tests::TempDir() + "installed-" + std::to_string(++trees);
    fs::remove_all(root_);
    fs::create_directories(root_);
    root_ = fs::canonical(root_);
  }
  ~LoadPluginTest() {
    // The library stays loaded, so the destructor does not close it.
    unsetenv("FOREBAY_CUDA_PLUGIN");
  }

  // Copies a built file into the tree.
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

  // Makes the library at `path` load the plug-in. Returns the message of a
  // failure, or an empty text.
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

TEST_CASE_METHOD(
    LoadPluginTest,
    "The client finds its GPU plug-in beside the library in a wheel",
    "[device][plugin]") {
  InstallLibrary("site-packages/forebay/libforebay.so");
  InstallPlugin("site-packages/forebay/libforebay_cuda.so");
  CHECK_THAT(Load("site-packages/forebay/libforebay.so"), Catch::Equals(""));
}

TEST_CASE_METHOD(
    LoadPluginTest,
    "The client finds its GPU plug-in in lib/forebay below a prefix",
    "[device][plugin]") {
  InstallLibrary("usr/lib/libforebay.so");
  InstallPlugin("usr/lib/forebay/libforebay_cuda.so");
  CHECK_THAT(Load("usr/lib/libforebay.so"), Catch::Equals(""));
}

TEST_CASE_METHOD(LoadPluginTest,
                 "The client finds its GPU plug-in through the package's link "
                 "to the library",
                 "[device][plugin]") {
  InstallLibrary("usr/lib/libforebay.so");
  InstallPlugin("usr/lib/forebay/libforebay_cuda.so");
  const std::string package = root_ + "/usr/lib/python3/dist-packages/forebay";
  fs::create_directories(package);
  fs::create_symlink("../../../libforebay.so", package + "/libforebay.so");
  CHECK_THAT(Load("usr/lib/python3/dist-packages/forebay/libforebay.so"),
             Catch::Equals(""));
}

TEST_CASE_METHOD(LoadPluginTest, "The client says where its GPU plug-in is not",
                 "[device][plugin]") {
  InstallLibrary("usr/lib/libforebay.so");
  CHECK(Load("usr/lib/libforebay.so") ==
        "no GPU plug-in is installed: there is neither " + root_ +
            "/usr/lib/libforebay_cuda.so nor " + root_ +
            "/usr/lib/forebay/libforebay_cuda.so, and FOREBAY_CUDA_PLUGIN "
            "is not set");
  // The plug-in may be installed after a failed attempt.
  InstallPlugin("usr/lib/forebay/libforebay_cuda.so");
  CHECK_THAT(Load("usr/lib/libforebay.so"), Catch::Equals(""));
}

TEST_CASE_METHOD(
    LoadPluginTest,
    "The plug-in that FOREBAY_CUDA_PLUGIN names comes first and is loaded once",
    "[device][plugin]") {
  InstallLibrary("lib/libforebay.so");
  InstallPlugin("lib/libforebay_cuda.so");
  setenv("FOREBAY_CUDA_PLUGIN", Built("newer_plugin").c_str(), 1);
  CHECK_THAT(Load("lib/libforebay.so"), Contains("has version 4"));
  setenv("FOREBAY_CUDA_PLUGIN", Built("good_plugin").c_str(), 1);
  CHECK_THAT(Load("lib/libforebay.so"), Catch::Equals(""));
  setenv("FOREBAY_CUDA_PLUGIN", "none.so", 1);
  CHECK_THAT(Load("lib/libforebay.so"), Catch::Equals(""));
}

TEST_CASE_METHOD(LoadPluginTest,
                 "A name without a folder in FOREBAY_CUDA_PLUGIN is a file in "
                 "the working directory",
                 "[device][plugin]") {
  InstallLibrary("lib/libforebay.so");
  setenv("FOREBAY_CUDA_PLUGIN", "none.so", 1);
  CHECK(Load("lib/libforebay.so") == "the GPU plug-in ./none.so is not there");
}

}  // namespace
}  // namespace forebay::client::device
