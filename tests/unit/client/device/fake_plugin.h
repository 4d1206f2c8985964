#ifndef FOREBAY_TESTS_UNIT_CLIENT_DEVICE_FAKE_PLUGIN_H_
#define FOREBAY_TESTS_UNIT_CLIENT_DEVICE_FAKE_PLUGIN_H_

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "cuda/plugin_abi.h"

namespace forebay::client::device {

// The answers of the fake plug-in, and the calls that it got.
struct PluginScript {
  std::int32_t device_count = 2;
  std::int32_t described = 0;  // result of describe
  cuda::PluginResult result = cuda::PluginResult::kOk;
  std::int32_t answer = 1;    // result of has_tail
  std::int32_t captures = 0;  // result of is_capturing
  std::string words = "the GPU is on holiday";
  std::uint64_t room = 1'000'000;  // bytes of free GPU memory
  bool reached = true;             // whether every event is reached
  bool rests = true;               // whether await_all succeeds
  std::uint64_t made = 0;  // number of pieces of memory and events created
  // Size of each block in bytes, by its address.
  std::map<std::uint64_t, std::uint64_t> memory;
  std::vector<std::string> calls;

  cuda::PluginResult Note(const std::string& call, cuda::PluginWords why) {
    calls.push_back(call);
    if (result != cuda::PluginResult::kOk)
      std::snprintf(why.text, why.size, "%s", words.c_str());
    return result;
  }
};

inline PluginScript& Told() {
  static PluginScript script;
  return script;
}

// Returns the name of the GPU's own stream, or of a test's stream, whose
// pointer is a number.
inline std::string NameOf(void* stream) {
  return stream == &Told()
             ? "own stream"
             : "stream " +
                   std::to_string(reinterpret_cast<std::uintptr_t>(stream));
}

inline std::int32_t Describe(cuda::PluginHost* host,
                             cuda::PluginDevice* devices, std::int32_t capacity,
                             char* why, std::size_t why_size) {
  host->device_count = Told().device_count;
  for (int i = 0; i < Told().device_count && i < capacity; ++i)
    std::snprintf(devices[i].uuid, sizeof devices[i].uuid, "uuid %d", i);
  std::snprintf(why, why_size, "%s", Told().words.c_str());
  return Told().described;
}

// A plug-in that records its calls in Told(). Not thread-safe.
inline constexpr cuda::Plugin kFakePlugin = {
    .version = cuda::kPluginVersion,
    .describe = &Describe,
    .gpu = {},
    .trainer = {
        .open =
            [](std::int32_t ordinal, cuda::PluginTrainerGpu** gpu,
               cuda::PluginWords why) {
              *gpu = reinterpret_cast<cuda::PluginTrainerGpu*>(&Told());
              const auto result =
                  Told().Note("open " + std::to_string(ordinal), why);
              if (result != cuda::PluginResult::kOk) *gpu = nullptr;
              return result;
            },
        .close =
            [](cuda::PluginTrainerGpu*) { Told().calls.push_back("close"); },
        .has_tail = [](const cuda::PluginTrainerGpu*) { return Told().answer; },
        .import_memory =
            [](cuda::PluginTrainerGpu*, std::int32_t fd, std::uint64_t bytes,
               std::uint64_t* address, cuda::PluginWords why) {
              *address = 1000 * static_cast<std::uint64_t>(fd);
              return Told().Note(
                  "import " + std::to_string(fd) + " " + std::to_string(bytes),
                  why);
            },
        .unimport =
            [](cuda::PluginTrainerGpu*, std::uint64_t address,
               std::uint64_t bytes) {
              Told().calls.push_back("unimport " + std::to_string(address) +
                                     " " + std::to_string(bytes));
            },
        .run_tail =
            [](cuda::PluginTrainerGpu*, void*, const cuda::PluginTail* tail,
               std::uint64_t from, std::uint64_t to, std::uint64_t images,
               std::uint64_t image_pixels, cuda::PluginWords why) {
              return Told().Note("tail " + std::to_string(tail->element_bytes) +
                                     " " + std::to_string(from) + " " +
                                     std::to_string(to) + " " +
                                     std::to_string(images) + " " +
                                     std::to_string(image_pixels),
                                 why);
            },
        .copy =
            [](cuda::PluginTrainerGpu*, void*, std::uint64_t from,
               std::uint64_t to, std::uint64_t bytes, cuda::PluginWords why) {
              return Told().Note("copy " + std::to_string(from) + " " +
                                     std::to_string(to) + " " +
                                     std::to_string(bytes),
                                 why);
            },
        .call_after =
            [](cuda::PluginTrainerGpu*, void*, void (*call)(void*),
               void* argument, cuda::PluginWords why) {
              const auto result = Told().Note("call", why);
              if (result == cuda::PluginResult::kOk) call(argument);
              return result;
            },
        .poll = [](cuda::PluginTrainerGpu*,
                   cuda::PluginWords why) { return Told().Note("poll", why); },
        .is_capturing =
            [](cuda::PluginTrainerGpu*, void*, std::int32_t* captures,
               cuda::PluginWords why) {
              *captures = Told().captures;
              return Told().Note("capturing", why);
            },
        .allocate =
            [](cuda::PluginTrainerGpu*, std::uint64_t bytes,
               std::uint64_t* address, cuda::PluginWords why) {
              if (bytes > Told().room) return cuda::PluginResult::kNoMemory;
              Told().room -= bytes;
              *address = 1000 * ++Told().made;
              Told().memory[*address] = bytes;
              return Told().Note("allocate " + std::to_string(bytes), why);
            },
        .free =
            [](cuda::PluginTrainerGpu*, std::uint64_t address) {
              Told().room += Told().memory.extract(address).mapped();
              Told().calls.push_back("free " + std::to_string(address));
            },
        .upload =
            [](cuda::PluginTrainerGpu*, void*, const void*, std::uint64_t to,
               std::uint64_t bytes, cuda::PluginWords why) {
              return Told().Note(
                  "upload " + std::to_string(to) + " " + std::to_string(bytes),
                  why);
            },
        .own_stream = [](const cuda::PluginTrainerGpu*) -> void* {
          return &Told();
        },
        .make_event =
            [](cuda::PluginTrainerGpu*, void** event, cuda::PluginWords) {
              *event = reinterpret_cast<void*>(++Told().made);
              return cuda::PluginResult::kOk;
            },
        .drop_event = [](cuda::PluginTrainerGpu*, void*) {},
        .record =
            [](cuda::PluginTrainerGpu*, void*, void* stream,
               cuda::PluginWords why) {
              return Told().Note("record on " + NameOf(stream), why);
            },
        .is_reached =
            [](cuda::PluginTrainerGpu*, void*, std::int32_t* reached,
               cuda::PluginWords) {
              *reached = Told().reached ? 1 : 0;
              return cuda::PluginResult::kOk;
            },
        .hold_back =
            [](cuda::PluginTrainerGpu*, void* stream, void*,
               cuda::PluginWords why) {
              return Told().Note("hold back " + NameOf(stream), why);
            },
        .await_event =
            [](cuda::PluginTrainerGpu*, void*, cuda::PluginWords why) {
              return Told().Note("await event", why);
            },
        .await_all =
            [](cuda::PluginTrainerGpu*, cuda::PluginWords why) {
              const auto result = Told().Note("await all", why);
              return Told().rests ? result : cuda::PluginResult::kFailed;
            },
    }};

}  // namespace forebay::client::device

#endif  // FOREBAY_TESTS_UNIT_CLIENT_DEVICE_FAKE_PLUGIN_H_
