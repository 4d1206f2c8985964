// Defines libforebay_cuda.so as its users see it: one exported function, which
// returns a table of functions (plugin_abi.h).
//
// The functions here only convert arguments and results. PluginGpu and
// PluginTrainerGpu are handles: pointers to a GpuContext or a TrainerGpu.
// Results are codes and words, since neither C++ objects nor exceptions may
// cross between two C++ libraries. Words are written into the caller's buffer,
// and cut to the buffer's size.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "cuda/describe_host.h"
#include "cuda/driver_api.h"
#include "cuda/gpu_context.h"
#include "cuda/plugin_abi.h"
#include "cuda/trainer_gpu.h"

namespace forebay::cuda {
namespace {

// Implements Plugin::describe.
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

// Runs `act`. If it fails, writes its words into the caller's buffer.
template <typename Act>
PluginResult Answer(PluginWords words, Act act) {
  std::string why;
  const PluginResult result = act(&why);
  if (result != PluginResult::kOk)
    std::snprintf(words.text, words.size, "%s", why.c_str());
  return result;
}

// Returns the object that a handle of PluginGpuCalls points to.
GpuContext* ContextOf(PluginGpu* gpu) {
  return reinterpret_cast<GpuContext*>(gpu);
}

// Loads the driver, and opens a GPU for the daemon. Loading the driver again is
// cheap, because its library stays loaded.
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

// Returns the object that a handle of PluginTrainerCalls points to.
TrainerGpu* TrainerOf(PluginTrainerGpu* gpu) {
  return reinterpret_cast<TrainerGpu*>(gpu);
}

// Loads the driver, and opens a GPU for a trainer.
PluginResult OpenTrainer(std::int32_t ordinal, PluginTrainerGpu** gpu,
                         PluginWords words) {
  return Answer(words, [&](std::string* why) {
    DriverApi api;
    if (!LoadDriverApi(kDriverLibrary, &api, why)) return PluginResult::kFailed;
    TrainerGpu* trainer = nullptr;
    const PluginResult result = TrainerGpu::Open(api, ordinal, &trainer, why);
    *gpu = reinterpret_cast<PluginTrainerGpu*>(trainer);
    return result;
  });
}

// Does nothing: the TrainerGpu still serves other callers and pending calls.
void CloseTrainer(PluginTrainerGpu*) {}

std::int32_t HasTail(const PluginTrainerGpu* gpu) {
  return reinterpret_cast<const TrainerGpu*>(gpu)->has_tail() ? 1 : 0;
}

PluginResult ImportMemory(PluginTrainerGpu* gpu, std::int32_t fd,
                          std::uint64_t bytes, std::uint64_t* address,
                          PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return TrainerOf(gpu)->Import(fd, bytes, address, why);
  });
}

void Unimport(PluginTrainerGpu* gpu, std::uint64_t address,
              std::uint64_t bytes) {
  TrainerOf(gpu)->Unimport(address, bytes);
}

PluginResult RunTail(PluginTrainerGpu* gpu, void* stream,
                     const PluginTail* tail, std::uint64_t from,
                     std::uint64_t to, std::uint64_t images,
                     std::uint64_t image_pixels, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return TrainerOf(gpu)->RunTail(static_cast<CUstream>(stream), *tail, from,
                                   to, images, image_pixels, why);
  });
}

PluginResult Copy(PluginTrainerGpu* gpu, void* stream, std::uint64_t from,
                  std::uint64_t to, std::uint64_t bytes, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return TrainerOf(gpu)->Copy(static_cast<CUstream>(stream), from, to, bytes,
                                why);
  });
}

PluginResult CallAfter(PluginTrainerGpu* gpu, void* stream, void (*call)(void*),
                       void* argument, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return TrainerOf(gpu)->CallAfter(static_cast<CUstream>(stream), call,
                                     argument, why);
  });
}

PluginResult Poll(PluginTrainerGpu* gpu, PluginWords words) {
  return Answer(words,
                [&](std::string* why) { return TrainerOf(gpu)->Poll(why); });
}

PluginResult IsCapturing(PluginTrainerGpu* gpu, void* stream,
                         std::int32_t* captures, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    bool found = false;
    const PluginResult result =
        TrainerOf(gpu)->IsCapturing(static_cast<CUstream>(stream), &found, why);
    *captures = found ? 1 : 0;
    return result;
  });
}

PluginResult AllocateOwn(PluginTrainerGpu* gpu, std::uint64_t bytes,
                         std::uint64_t* address, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return TrainerOf(gpu)->Allocate(bytes, address, why);
  });
}

void FreeOwn(PluginTrainerGpu* gpu, std::uint64_t address) {
  TrainerOf(gpu)->Free(address);
}

PluginResult Upload(PluginTrainerGpu* gpu, void* stream, const void* from,
                    std::uint64_t to, std::uint64_t bytes, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return TrainerOf(gpu)->Upload(static_cast<CUstream>(stream), from, to,
                                  bytes, why);
  });
}

void* OwnStream(const PluginTrainerGpu* gpu) {
  return reinterpret_cast<const TrainerGpu*>(gpu)->own_stream();
}

PluginResult MakeEvent(PluginTrainerGpu* gpu, void** event, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    CUevent made = nullptr;
    const PluginResult result = TrainerOf(gpu)->MakeEvent(&made, why);
    *event = made;
    return result;
  });
}

void DropEvent(PluginTrainerGpu* gpu, void* event) {
  TrainerOf(gpu)->DropEvent(static_cast<CUevent>(event));
}

PluginResult Record(PluginTrainerGpu* gpu, void* event, void* stream,
                    PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return TrainerOf(gpu)->Record(static_cast<CUevent>(event),
                                  static_cast<CUstream>(stream), why);
  });
}

PluginResult IsReached(PluginTrainerGpu* gpu, void* event,
                       std::int32_t* reached, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    bool found = false;
    const PluginResult result =
        TrainerOf(gpu)->IsReached(static_cast<CUevent>(event), &found, why);
    *reached = found ? 1 : 0;
    return result;
  });
}

PluginResult HoldBack(PluginTrainerGpu* gpu, void* stream, void* event,
                      PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return TrainerOf(gpu)->HoldBack(static_cast<CUstream>(stream),
                                    static_cast<CUevent>(event), why);
  });
}

PluginResult AwaitEvent(PluginTrainerGpu* gpu, void* event, PluginWords words) {
  return Answer(words, [&](std::string* why) {
    return TrainerOf(gpu)->AwaitEvent(static_cast<CUevent>(event), why);
  });
}

PluginResult AwaitAll(PluginTrainerGpu* gpu, PluginWords words) {
  return Answer(
      words, [&](std::string* why) { return TrainerOf(gpu)->AwaitAll(why); });
}

// The table of functions. The table is constant data, so no code has to run
// when the library is loaded.
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
                                    .read = &Read},
                            .trainer = {.open = &OpenTrainer,
                                        .close = &CloseTrainer,
                                        .has_tail = &HasTail,
                                        .import_memory = &ImportMemory,
                                        .unimport = &Unimport,
                                        .run_tail = &RunTail,
                                        .copy = &Copy,
                                        .call_after = &CallAfter,
                                        .poll = &Poll,
                                        .is_capturing = &IsCapturing,
                                        .allocate = &AllocateOwn,
                                        .free = &FreeOwn,
                                        .upload = &Upload,
                                        .own_stream = &OwnStream,
                                        .make_event = &MakeEvent,
                                        .drop_event = &DropEvent,
                                        .record = &Record,
                                        .is_reached = &IsReached,
                                        .hold_back = &HoldBack,
                                        .await_event = &AwaitEvent,
                                        .await_all = &AwaitAll}};

}  // namespace
}  // namespace forebay::cuda

extern "C" const forebay::cuda::Plugin* forebay_cuda_plugin() {
  return &forebay::cuda::kPlugin;
}
