#include "client/device/plugin.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "cuda/elf_image.h"

namespace forebay::client::device {
namespace {

constexpr char kFile[] = "/libforebay_cuda.so";
constexpr char kVariable[] = "FOREBAY_CUDA_PLUGIN";

Status Refusal(std::string message) {
  return Status(FOREBAY_UNIMPLEMENTED, std::move(message));
}

std::string FolderOf(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

bool Exists(const std::string& path) {
  struct stat status;
  return stat(path.c_str(), &status) == 0;
}

// Returns where an installed plug-in may be, the likeliest first.
std::vector<std::string> InstalledPaths() {
  Dl_info here = {};
  // kFile is internal to this library, so dladdr surely finds this library. A
  // function could be replaced by one of another library.
  if (dladdr(kFile, &here) == 0 || here.dli_fname == nullptr) return {};
  // The Python package may have a symbolic link to the library that
  // tools/install has installed. The plug-in may lie beside the link or beside
  // its target.
  const std::string named = FolderOf(here.dli_fname);
  std::vector<std::string> paths = {named + kFile};
  const std::unique_ptr<char, decltype(&free)> resolved(
      realpath(here.dli_fname, nullptr), &free);
  const std::string real =
      resolved == nullptr ? named : FolderOf(resolved.get());
  if (real != named) paths.push_back(real + kFile);
  paths.push_back(FolderOf(real) + "/lib/forebay" + kFile);
  return paths;
}

Status FindPlugin(std::string* out) {
  const char* const given = secure_getenv(kVariable);
  if (given != nullptr && given[0] != '\0') {
    *out = given;
    // dlopen would search the library path for a name without a slash.
    if (out->find('/') == std::string::npos) *out = "./" + *out;
    return Status();
  }
  std::string places;
  for (const std::string& path : InstalledPaths()) {
    if (Exists(path)) {
      *out = path;
      return Status();
    }
    places += (places.empty() ? "" : " nor ") + path;
  }
  return Refusal("no GPU plug-in is installed: there is neither " + places +
                 ", and " + kVariable + " is not set");
}

}  // namespace

Status OpenPlugin(const std::string& path, const cuda::Plugin** out) {
  // dlopen of a truncated file would kill the process by SIGBUS.
  const cuda::ElfVerdict image = cuda::CheckElfImage(path);
  if (image.fault != cuda::ElfFault::kNone)
    return Refusal("the GPU plug-in " + image.why);
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const reason = dlerror();
    return Refusal("the GPU plug-in cannot be loaded: " +
                   (reason == nullptr ? path : std::string(reason)));
  }
  auto* const entry =
      reinterpret_cast<cuda::PluginEntry*>(dlsym(library, cuda::kPluginSymbol));
  const cuda::Plugin* const plugin = entry == nullptr ? nullptr : entry();
  if (plugin == nullptr) {
    dlclose(library);
    return Refusal(path + " is not a GPU plug-in of Forebay: it has no " +
                   cuda::kPluginSymbol);
  }
  const std::uint32_t version = plugin->version;
  if (version != cuda::kPluginVersion) {
    dlclose(library);
    return Refusal(path + " has version " + std::to_string(version) +
                   " of the GPU plug-in's interface, but libforebay.so needs "
                   "version " +
                   std::to_string(cuda::kPluginVersion) +
                   ": upgrade the older of the two");
  }
  *out = plugin;
  return Status();
}

Status LoadPlugin(const cuda::Plugin** out) {
  static std::mutex* const mutex = new std::mutex;
  static const cuda::Plugin* loaded = nullptr;  // guarded by *mutex
  const std::lock_guard lock(*mutex);
  if (loaded == nullptr) {
    std::string path;
    FOREBAY_CLIENT_RETURN_IF_ERROR(FindPlugin(&path));
    FOREBAY_CLIENT_RETURN_IF_ERROR(OpenPlugin(path, &loaded));
  }
  *out = loaded;
  return Status();
}

}  // namespace forebay::client::device
