// Implements Gpu by a plug-in's table of functions. Checks ranges, since the
// plug-in does not, and turns results into statuses.

#include "cuda/plugin_gpu.h"

#include <unistd.h>

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace forebay::cuda {
namespace {

// Calls `call(words)`, which calls the plug-in, and returns the result as a
// status. `words` is a buffer for the plug-in's error text.
template <typename Call>
absl::Status Ask(Call call) {
  char why[1024] = {};
  const PluginResult result =
      call(PluginWords{.text = why, .size = sizeof(why)});
  // The plug-in should have written a NUL. If not, this NUL ends the text.
  why[sizeof(why) - 1] = '\0';
  switch (result) {
    case PluginResult::kOk:
      return absl::OkStatus();
    case PluginResult::kNoMemory:
      return absl::ResourceExhaustedError(why);
    case PluginResult::kUnavailable:
      return absl::UnavailableError(why);
    case PluginResult::kLost:
      return absl::DataLossError(why);
    case PluginResult::kFailed:
      break;
  }
  return absl::InternalError(why);
}

// Memory that a plug-in has made. Owns the memory and its descriptor.
class PluginGpuMemory final : public GpuMemory {
 public:
  PluginGpuMemory(const PluginGpuCalls& calls, PluginGpu* gpu,
                  PluginMemory memory)
      : calls_(calls), gpu_(gpu), memory_(memory) {}
  ~PluginGpuMemory() override {
    calls_.free(gpu_, &memory_);
    close(memory_.fd);
  }
  PluginGpuMemory(const PluginGpuMemory&) = delete;
  PluginGpuMemory& operator=(const PluginGpuMemory&) = delete;

  int fd() const override { return memory_.fd; }
  std::uint64_t bytes() const override { return memory_.bytes; }
  std::uint64_t address() const { return memory_.address; }

 private:
  const PluginGpuCalls& calls_;
  PluginGpu* const gpu_;
  const PluginMemory memory_;
};

// Returns the GPU address of a range of memory that the plug-in has made.
// INVALID_ARGUMENT: the range lies outside of the memory.
absl::StatusOr<std::uint64_t> Address(const GpuMemory& memory,
                                      std::uint64_t offset,
                                      std::uint64_t bytes) {
  if (offset > memory.bytes() || bytes > memory.bytes() - offset) {
    return absl::InvalidArgumentError(
        absl::StrCat("bytes ", offset, " to ", offset + bytes,
                     " are outside the ", memory.bytes(), " of a slot"));
  }
  return static_cast<const PluginGpuMemory&>(memory).address() + offset;
}

// A GPU that calls a plug-in. Threads, ownership, blocking and errors are as
// Gpu says.
class PluginBackedGpu final : public Gpu {
 public:
  PluginBackedGpu(const PluginGpuCalls& calls, PluginGpu* gpu)
      : calls_(calls), gpu_(gpu) {}
  ~PluginBackedGpu() override { calls_.close(gpu_); }
  PluginBackedGpu(const PluginBackedGpu&) = delete;
  PluginBackedGpu& operator=(const PluginBackedGpu&) = delete;

  absl::StatusOr<std::unique_ptr<GpuMemory>> Allocate(
      std::uint64_t bytes) override {
    PluginMemory memory = {};
    const absl::Status made = Ask([&](PluginWords why) {
      return calls_.allocate(gpu_, bytes, &memory, why);
    });
    if (!made.ok()) return made;
    return std::make_unique<PluginGpuMemory>(calls_, gpu_, memory);
  }

  absl::Status Register(void* data, std::uint64_t bytes) override {
    return Ask([&](PluginWords why) {
      return calls_.register_host(gpu_, data, bytes, why);
    });
  }

  absl::Status Unregister(void* data) override {
    return Ask([&](PluginWords why) {
      return calls_.unregister_host(gpu_, data, why);
    });
  }

  absl::StatusOr<std::uint64_t> StartCopy(const GpuMemory& to,
                                          std::uint64_t offset,
                                          const void* from,
                                          std::uint64_t bytes) override {
    const absl::StatusOr<std::uint64_t> address = Address(to, offset, bytes);
    if (!address.ok()) return address.status();
    std::uint64_t copy = 0;
    const absl::Status started = Ask([&](PluginWords why) {
      return calls_.start_copy(gpu_, *address, from, bytes, &copy, why);
    });
    if (!started.ok()) return started;
    return copy;
  }

  absl::Status Wait(std::uint64_t copy) override {
    return Ask([&](PluginWords why) { return calls_.wait(gpu_, copy, why); });
  }

  absl::Status Read(const GpuMemory& from, std::uint64_t offset, void* to,
                    std::uint64_t bytes) override {
    const absl::StatusOr<std::uint64_t> address = Address(from, offset, bytes);
    if (!address.ok()) return address.status();
    return Ask([&](PluginWords why) {
      return calls_.read(gpu_, *address, to, bytes, why);
    });
  }

 private:
  const PluginGpuCalls& calls_;
  PluginGpu* const gpu_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Gpu>> OpenPluginGpu(const PluginGpuCalls& calls,
                                                   int ordinal) {
  PluginGpu* gpu = nullptr;
  const absl::Status opened =
      Ask([&](PluginWords why) { return calls.open(ordinal, &gpu, why); });
  if (!opened.ok()) return opened;
  return std::make_unique<PluginBackedGpu>(calls, gpu);
}

}  // namespace forebay::cuda
