#include "tests/device/plugin_on_driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>
#include <utility>

#include "cuda/plugin.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/device/device_fixture.h"

namespace forebay::device_tests {
namespace {

using tests::IsOk;

constexpr char kPlugin[] = "cuda/libforebay_cuda.so";

// Loads the driver: dlopen() finds a loaded library by its name, libcuda.so.1.
void LoadDriver() {
  void* const driver = dlopen(DriverLibrary().c_str(), RTLD_NOW | RTLD_GLOBAL);
  const std::string why = driver != nullptr ? "" : dlerror();
  INFO(why);
  CHECK(driver != nullptr);
}

const cuda::Plugin* LoadTable() {
  LoadDriver();
  void* const library = dlopen(kPlugin, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  auto* const entry =
      reinterpret_cast<cuda::PluginEntry*>(dlsym(library, cuda::kPluginSymbol));
  const cuda::Plugin* const plugin = entry == nullptr ? nullptr : entry();
  cuda::PluginHost host = {};
  char why[1024] = {};
  const bool works = plugin != nullptr &&
                     plugin->describe(&host, nullptr, 0, why, sizeof(why)) == 0;
  CAPTURE(why);
  CHECK(works);
  return works ? plugin : nullptr;
}

}  // namespace

std::unique_ptr<cuda::Driver> OpenPluginOnDriver() {
  LoadDriver();
  auto driver = cuda::OpenPlugin(kPlugin);
  CHECK_THAT(driver, IsOk());
  return driver.ok() ? *std::move(driver) : nullptr;
}

const cuda::Plugin& PluginOnDriver() {
  static const cuda::Plugin* const plugin = LoadTable();
  if (plugin == nullptr) std::abort();
  return *plugin;
}

}  // namespace forebay::device_tests
