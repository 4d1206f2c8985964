#ifndef FOREBAY_CLIENT_DEVICE_GPU_H_
#define FOREBAY_CLIENT_DEVICE_GPU_H_

#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "client/base/status.h"
#include "cuda/plugin_abi.h"

namespace forebay::client::device {

class Event;
class ImportedMemory;
class OwnMemory;

// A GPU that this process uses through the plug-in, in the primary context,
// which is PyTorch's. `stream` is a CUstream of the caller's there; null: the
// legacy default stream. Work is queued in that stream, and no call waits for
// it.
//
// Thread-safe. Shared by its owners and its memory. Open, Import and the end of
// memory block for the driver; what queues may wait for room in the stream;
// Poll waits for a call of CallAfter that runs: so its caller holds no lock
// that the call takes. Destruction does not block, and calls that are pending
// still come. Errors: RESOURCE_EXHAUSTED (the GPU has no memory left), FORKED
// (CUDA does not work in a forked child, where destruction does nothing),
// INTERNAL (the driver's words); once the GPU is lost, all calls fail so.
class Gpu : public std::enable_shared_from_this<Gpu> {
 public:
  // Opens CUDA's device `ordinal` of this process. Also INVALID_ARGUMENT (there
  // is no such GPU), UNIMPLEMENTED (no plug-in, no driver), FAILED_PRECONDITION
  // (another process has the GPU for itself).
  static Status Open(int ordinal, std::shared_ptr<Gpu>* out);
  // The same by a plug-in that is loaded for good.
  static Status Open(const cuda::Plugin& plugin, int ordinal,
                     std::shared_ptr<Gpu>* out);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  // The same for all processes: 8-4-4-4-12 hexadecimal digits, no "GPU-".
  const std::string& uuid() const { return uuid_; }
  // Whether RunTail works: the GPU may be older than the kernels.
  bool has_tail() const;
  // Whether Poll has found the GPU lost.
  bool is_lost() const { return lost_; }
  // FORKED in a forked child, which has no GPU.
  Status CheckProcess() const;

  // Maps what the daemon has exported, for reading; `fd` stays the caller's.
  Status Import(int fd, std::uint64_t bytes,
                std::unique_ptr<ImportedMemory>* out);
  // Makes elements at `to`, aligned to 16 bytes, of the uint8 images at `from`,
  // aligned to 4.
  Status RunTail(void* stream, const cuda::PluginTail& tail, std::uint64_t from,
                 std::uint64_t to, std::uint64_t images,
                 std::uint64_t image_pixels);
  Status Copy(void* stream, std::uint64_t from, std::uint64_t to,
              std::uint64_t bytes);
  // Calls `call(argument)` once, from a thread of the driver's, after all that
  // the stream has queued, which does not wait for it. `call` uses neither CUDA
  // nor this class. Never called if this fails: so it does if the stream is
  // captured.
  Status CallAfter(void* stream, void (*call)(void*), void* argument);
  // Fails if the GPU is lost: is_lost() is true, and what CallAfter has queued
  // and was not called yet never is: the caller does now what those should have
  // done. Other errors leave all as it was.
  Status Poll();
  // Whether what is queued now would become part of a CUDA graph, or spoil one.
  Status IsCapturing(void* stream, bool* captures);

  // Makes memory of this process's own, aligned to 256 bytes.
  Status Allocate(std::uint64_t bytes, std::unique_ptr<OwnMemory>* out);
  // Copies memory of the host, which stays as it is until that is done.
  Status Upload(void* stream, const void* from, std::uint64_t to,
                std::uint64_t bytes);
  // A stream that no framework uses, there until the process ends.
  void* own_stream() const;
  Status MakeEvent(std::unique_ptr<Event>* out);
  // Waits until all that this process has queued there is done. Fails while a
  // stream is captured, and ends the capture.
  Status AwaitAll();

 private:
  friend class Event;
  friend class ImportedMemory;
  friend class OwnMemory;

  Gpu(const cuda::PluginTrainerCalls& calls, std::string uuid);
  template <typename Call>
  Status Ask(Call call) const;

  const cuda::PluginTrainerCalls& calls_;
  const std::string uuid_;
  const pid_t process_;
  cuda::PluginTrainerGpu* gpu_ = nullptr;
  std::atomic<bool> lost_{false};
};

// Memory of the daemon's on a GPU. It lives, whatever the daemon does, as long
// as this.
//
// Immutable. Keeps its Gpu. Its owner destroys it once nothing that is queued
// uses it: that blocks for the driver, and does nothing in a forked child.
class ImportedMemory {
 public:
  ~ImportedMemory();
  ImportedMemory(const ImportedMemory&) = delete;
  ImportedMemory& operator=(const ImportedMemory&) = delete;

  std::uint64_t address() const { return address_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  friend class Gpu;
  ImportedMemory(std::shared_ptr<Gpu> gpu, std::uint64_t address,
                 std::uint64_t bytes);

  const std::shared_ptr<Gpu> gpu_;
  const std::uint64_t address_;
  const std::uint64_t bytes_;
};

// Memory of this process's own on a GPU.
//
// Immutable. Keeps its Gpu. Its owner destroys it once nothing that is queued
// uses it: that blocks for the driver, and does nothing in a forked child.
class OwnMemory {
 public:
  ~OwnMemory();
  OwnMemory(const OwnMemory&) = delete;
  OwnMemory& operator=(const OwnMemory&) = delete;

  std::uint64_t address() const { return address_; }

 private:
  friend class Gpu;
  OwnMemory(std::shared_ptr<Gpu> gpu, std::uint64_t address)
      : gpu_(std::move(gpu)), address_(address) {}

  const std::shared_ptr<Gpu> gpu_;
  const std::uint64_t address_;
};

// The moment when a stream has done all that it had queued when the event was
// recorded; one that never was recorded has passed.
//
// Thread-safe. Keeps its Gpu. Its owner may destroy it while streams wait for
// it. Blocks and fails as Gpu does.
class Event {
 public:
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Fails if the stream is captured.
  Status Record(void* stream);
  // Has a stream that is not captured go on only after that moment.
  Status HoldBack(void* stream) const;
  Status IsReached(bool* reached) const;
  // Waits for the moment.
  Status Await() const;

 private:
  friend class Gpu;
  Event(std::shared_ptr<Gpu> gpu, void* event)
      : gpu_(std::move(gpu)), event_(event) {}

  const std::shared_ptr<Gpu> gpu_;
  void* const event_;
};

}  // namespace forebay::client::device

#endif  // FOREBAY_CLIENT_DEVICE_GPU_H_
