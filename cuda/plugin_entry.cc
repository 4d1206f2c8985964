// libforebay_cuda.so, as seen from outside.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "cuda/describe_host.h"
#include "cuda/driver_api.h"
#include "cuda/gpu_context.h"
#include "cuda/plugin_abi.h"

namespace forebay::cuda {
namespace {

std::int32_t Describe(PluginHost* host, PluginDevice* devices,
                      std::int32_t capacity, char* why, std::size_t why_size) {
  DriverApi api;
  std::string reason;
  if (LoadDriverApi(kDriverLibrary, &api, &reason) &&
      DescribeHost(api, "/sys", host, devices, capacity, &reason)) {
    return 0;
  }
  std::snprintf(why, why_size, "%s", reason.c_str());
  return 1;
}

// Writes the words of a result that is not kOk.
template <typename Act>
PluginResult Answer(PluginWords words, Act act) {
  std::string why;
  const PluginResult result = act(&why);
  if (result != PluginResult::kOk)
    std::snprintf(words.text, words.size, "%s", why.c_str());
  return result;
}

GpuContext* ContextOf(PluginGpu* gpu) {
  return reinterpret_cast<GpuContext*>(gpu);
}

PluginResult OpenGpu(std::int32_t ordinal, PluginGpu** gpu, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    DriverApi api;
    if (!LoadDriverApi(kDriverLibrary, &api, why)) return PluginResult::kFailed;
    std::unique_ptr<GpuContext> context;
    const PluginResult result = GpuContext::Open(api, ordinal, &context, why);
    *gpu = reinterpret_cast<PluginGpu*>(context.release());
    return result;
  });
}

void CloseGpu(PluginGpu* gpu) { delete ContextOf(gpu); }

PluginResult Allocate(PluginGpu* gpu, std::uint64_t bytes, PluginMemory* memory,
                      PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return ContextOf(gpu)->Allocate(bytes, memory, why);
  });
}

void Free(PluginGpu* gpu, const PluginMemory* memory) {
  ContextOf(gpu)->Free(*memory);
}

PluginResult RegisterHost(PluginGpu* gpu, void* data, std::uint64_t bytes,
                          PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return ContextOf(gpu)->Register(data, bytes, why);
  });
}

PluginResult UnregisterHost(PluginGpu* gpu, void* data, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return ContextOf(gpu)->Unregister(data, why);
  });
}

PluginResult StartCopy(PluginGpu* gpu, std::uint64_t to, const void* from,
                       std::uint64_t bytes, std::uint64_t* copy,
                       PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return ContextOf(gpu)->StartCopy(to, from, bytes, copy, why);
  });
}

PluginResult Wait(PluginGpu* gpu, std::uint64_t copy, PluginWords words) {
  return Answer(
      words, [&](std::string* why) { return ContextOf(gpu)->Wait(copy, why); });
}

PluginResult Read(PluginGpu* gpu, std::uint64_t from, void* to,
                  std::uint64_t bytes, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return ContextOf(gpu)->Read(from, to, bytes, why);
  });
}

constexpr Plugin kPlugin = {.version = kPluginVersion,
                            .describe = &Describe,
                            .gpu = {.open = &OpenGpu,
                                    .close = &CloseGpu,
                                    .allocate = &Allocate,
                                    .free = &Free,
                                    .register_host = &RegisterHost,
                                    .unregister_host = &UnregisterHost,
                                    .start_copy = &StartCopy,
                                    .wait = &Wait,
                                    .read = &Read}};

}  // namespace
}  // namespace forebay::cuda

extern "C" const forebay::cuda::Plugin* forebay_cuda_plugin() {
  return &forebay::cuda::kPlugin;
}
