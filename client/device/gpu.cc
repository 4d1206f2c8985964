#include "client/device/gpu.h"

#include <string.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <utility>
#include <vector>

#include "client/device/plugin.h"

namespace forebay::client::device {
namespace {

// The largest number of GPUs, several times what a host can hold.
constexpr std::int32_t kMaxDevices = 256;
constexpr std::size_t kWhyBytes = 1024;  // room for the words of an error

forebay_status CodeOf(cuda::PluginResult result) {
  switch (result) {
    case cuda::PluginResult::kOk:
      return FOREBAY_OK;
    case cuda::PluginResult::kNoMemory:
      return FOREBAY_RESOURCE_EXHAUSTED;
    case cuda::PluginResult::kUnavailable:
      return FOREBAY_FAILED_PRECONDITION;
    default:
      return FOREBAY_INTERNAL;
  }
}

Status Forked() {
  return Status(FOREBAY_FORKED,
                "the GPU belongs to the parent of this process: CUDA does not "
                "work in a forked child");
}

// Finds the UUID of a device of this process.
Status FindUuid(const cuda::Plugin& plugin, int ordinal, std::string* uuid) {
  cuda::PluginHost host = {};
  std::vector<cuda::PluginDevice> devices(kMaxDevices);
  char why[kWhyBytes] = {};
  if (plugin.describe(&host, devices.data(), kMaxDevices, why, sizeof why) !=
      0) {
    why[sizeof why - 1] = '\0';
    // The driver cannot be missing: the caller names a GPU by CUDA's number, so
    // it uses CUDA already.
    return Status(FOREBAY_INTERNAL, why);
  }
  if (ordinal < 0 || ordinal >= std::min(host.device_count, kMaxDevices)) {
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "there is no cuda:" + std::to_string(ordinal) +
                      ": this process sees " +
                      std::to_string(host.device_count) + " of them");
  }
  const char(&text)[64] = devices[static_cast<std::size_t>(ordinal)].uuid;
  uuid->assign(text, strnlen(text, sizeof text));
  return Status();
}

}  // namespace

template <typename Call>
Status Gpu::Ask(Call call) const {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckProcess());
  char why[kWhyBytes] = {};
  const cuda::PluginResult result =
      call(cuda::PluginWords{.text = why, .size = sizeof why});
  if (result == cuda::PluginResult::kOk) return Status();
  why[sizeof why - 1] = '\0';
  return Status(CodeOf(result), why);
}

Gpu::Gpu(const cuda::PluginTrainerCalls& calls, std::string uuid)
    : calls_(calls), uuid_(std::move(uuid)), process_(getpid()) {}

Status Gpu::CheckProcess() const {
  return getpid() == process_ ? Status() : Forked();
}

Status Gpu::Open(int ordinal, std::shared_ptr<Gpu>* out) {
  const cuda::Plugin* plugin = nullptr;
  FOREBAY_CLIENT_RETURN_IF_ERROR(LoadPlugin(&plugin));
  return Open(*plugin, ordinal, out);
}

Status Gpu::Open(const cuda::Plugin& plugin, int ordinal,
                 std::shared_ptr<Gpu>* out) {
  // The first process that has used CUDA through this library, among this
  // process and the processes that it was forked from. Its forked children must
  // not use CUDA.
  static std::atomic<pid_t> user{0};
  pid_t none = 0;
  if (!user.compare_exchange_strong(none, getpid()) && none != getpid())
    return Forked();
  std::string uuid;
  FOREBAY_CLIENT_RETURN_IF_ERROR(FindUuid(plugin, ordinal, &uuid));
  std::shared_ptr<Gpu> gpu(new Gpu(plugin.trainer, std::move(uuid)));
  FOREBAY_CLIENT_RETURN_IF_ERROR(gpu->Ask([&](cuda::PluginWords why) {
    return plugin.trainer.open(ordinal, &gpu->gpu_, why);
  }));
  *out = std::move(gpu);
  return Status();
}

Gpu::~Gpu() {
  if (gpu_ != nullptr && CheckProcess().ok()) calls_.close(gpu_);
}

bool Gpu::has_tail() const { return calls_.has_tail(gpu_) != 0; }

Status Gpu::Import(int fd, std::uint64_t bytes,
                   std::unique_ptr<ImportedMemory>* out) {
  std::uint64_t address = 0;
  FOREBAY_CLIENT_RETURN_IF_ERROR(Ask([&](cuda::PluginWords why) {
    return calls_.import_memory(gpu_, fd, bytes, &address, why);
  }));
  out->reset(new ImportedMemory(shared_from_this(), address, bytes));
  return Status();
}

Status Gpu::RunTail(void* stream, const cuda::PluginTail& tail,
                    std::uint64_t from, std::uint64_t to, std::uint64_t images,
                    std::uint64_t image_pixels) {
  return Ask([&](cuda::PluginWords why) {
    return calls_.run_tail(gpu_, stream, &tail, from, to, images, image_pixels,
                           why);
  });
}

Status Gpu::Copy(void* stream, std::uint64_t from, std::uint64_t to,
                 std::uint64_t bytes) {
  return Ask([&](cuda::PluginWords why) {
    return calls_.copy(gpu_, stream, from, to, bytes, why);
  });
}

Status Gpu::CallAfter(void* stream, void (*call)(void*), void* argument) {
  return Ask([&](cuda::PluginWords why) {
    return calls_.call_after(gpu_, stream, call, argument, why);
  });
}

Status Gpu::Poll() {
  return Ask([&](cuda::PluginWords why) {
    const cuda::PluginResult result = calls_.poll(gpu_, why);
    if (result == cuda::PluginResult::kLost) lost_ = true;
    return result;
  });
}

Status Gpu::IsCapturing(void* stream, bool* captures) {
  std::int32_t found = 0;
  FOREBAY_CLIENT_RETURN_IF_ERROR(Ask([&](cuda::PluginWords why) {
    return calls_.is_capturing(gpu_, stream, &found, why);
  }));
  *captures = found != 0;
  return Status();
}

Status Gpu::Allocate(std::uint64_t bytes, std::unique_ptr<OwnMemory>* out) {
  std::uint64_t address = 0;
  FOREBAY_CLIENT_RETURN_IF_ERROR(Ask([&](cuda::PluginWords why) {
    return calls_.allocate(gpu_, bytes, &address, why);
  }));
  out->reset(new OwnMemory(shared_from_this(), address));
  return Status();
}

Status Gpu::Upload(void* stream, const void* from, std::uint64_t to,
                   std::uint64_t bytes) {
  return Ask([&](cuda::PluginWords why) {
    return calls_.upload(gpu_, stream, from, to, bytes, why);
  });
}

void* Gpu::own_stream() const { return calls_.own_stream(gpu_); }

Status Gpu::MakeEvent(std::unique_ptr<Event>* out) {
  void* event = nullptr;
  FOREBAY_CLIENT_RETURN_IF_ERROR(Ask([&](cuda::PluginWords why) {
    return calls_.make_event(gpu_, &event, why);
  }));
  out->reset(new Event(shared_from_this(), event));
  return Status();
}

Status Gpu::AwaitAll() {
  return Ask(
      [&](cuda::PluginWords why) { return calls_.await_all(gpu_, why); });
}

OwnMemory::~OwnMemory() {
  if (gpu_->CheckProcess().ok()) gpu_->calls_.free(gpu_->gpu_, address_);
}

Event::~Event() {
  if (gpu_->CheckProcess().ok()) gpu_->calls_.drop_event(gpu_->gpu_, event_);
}

Status Event::Record(void* stream) {
  return gpu_->Ask([&](cuda::PluginWords why) {
    return gpu_->calls_.record(gpu_->gpu_, event_, stream, why);
  });
}

Status Event::HoldBack(void* stream) const {
  return gpu_->Ask([&](cuda::PluginWords why) {
    return gpu_->calls_.hold_back(gpu_->gpu_, stream, event_, why);
  });
}

Status Event::Await() const {
  return gpu_->Ask([&](cuda::PluginWords why) {
    return gpu_->calls_.await_event(gpu_->gpu_, event_, why);
  });
}

Status Event::IsReached(bool* reached) const {
  std::int32_t found = 0;
  FOREBAY_CLIENT_RETURN_IF_ERROR(gpu_->Ask([&](cuda::PluginWords why) {
    return gpu_->calls_.is_reached(gpu_->gpu_, event_, &found, why);
  }));
  *reached = found != 0;
  return Status();
}

ImportedMemory::ImportedMemory(std::shared_ptr<Gpu> gpu, std::uint64_t address,
                               std::uint64_t bytes)
    : gpu_(std::move(gpu)), address_(address), bytes_(bytes) {}

ImportedMemory::~ImportedMemory() {
  if (gpu_->CheckProcess().ok())
    gpu_->calls_.unimport(gpu_->gpu_, address_, bytes_);
}

}  // namespace forebay::client::device
