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

// A GPU that this process uses through the plug-in. The context is the GPU's
// primary one, which PyTorch uses, too. Arguments named `stream` are CUstreams
// of the caller's in that context; null is the legacy default stream. Methods
// queue work on the stream and do not wait for the work.
//
// Thread-safe. Owners and objects that hold memory of the GPU share it. Open,
// Import and the destruction of memory block for the driver. Methods that queue
// work may wait for room in the stream. Poll waits for a `call` of CallAfter
// that is running, so the caller of Poll must not hold a lock that such a
// `call` takes. Destruction does not block, and calls that CallAfter has queued
// are still made.
//
// Errors: RESOURCE_EXHAUSTED: the GPU has no memory left. FORKED: CUDA does not
// work in a forked child, where destruction does nothing. INTERNAL: another
// error, in the driver's words. Once the GPU is lost, all calls fail with
// INTERNAL.
class Gpu : public std::enable_shared_from_this<Gpu> {
 public:
  // Opens CUDA's device number `ordinal` of this process. INVALID_ARGUMENT: no
  // GPU has that number. UNIMPLEMENTED: there is no plug-in or no driver.
  // FAILED_PRECONDITION: another process has the GPU for itself.
  static Status Open(int ordinal, std::shared_ptr<Gpu>* out);
  // Opens the GPU through `plugin`, which must stay loaded until the process
  // ends.
  static Status Open(const cuda::Plugin& plugin, int ordinal,
                     std::shared_ptr<Gpu>* out);
  ~Gpu();
  Gpu(const Gpu&) = delete;
  Gpu& operator=(const Gpu&) = delete;

  // Returns the GPU's UUID, which is the same in all processes: 8-4-4-4-12
  // hexadecimal digits, without "GPU-".
  const std::string& uuid() const { return uuid_; }
  // Whether RunTail works. RunTail fails if the GPU is older than the kernels,
  // or if the driver cannot load them.
  bool has_tail() const;
  // Whether Poll has found the GPU lost.
  bool is_lost() const { return lost_; }
  // Returns FORKED in a child of the process that opened the GPU.
  Status CheckProcess() const;

  // Maps `bytes` bytes of the daemon's GPU memory for reading. The descriptor
  // `fd` stands for that memory, and stays the caller's.
  Status Import(int fd, std::uint64_t bytes,
                std::unique_ptr<ImportedMemory>* out);
  // Queues work that reads `images` uint8 images at address `from`, and writes
  // the elements that `tail` describes at address `to`. Each image has
  // `image_pixels` pixels. `to` is aligned to 16 bytes, `from` to 4 bytes.
  Status RunTail(void* stream, const cuda::PluginTail& tail, std::uint64_t from,
                 std::uint64_t to, std::uint64_t images,
                 std::uint64_t image_pixels);
  // Queues a copy of bytes on the GPU.
  Status Copy(void* stream, std::uint64_t from, std::uint64_t to,
              std::uint64_t bytes);
  // Queues a call of `call(argument)`. A thread of the CUDA driver makes it
  // once, when all work queued on the stream so far is done. The stream does
  // not wait for the call. `call` must use neither CUDA nor this class. If this
  // fails, as it does if the stream is captured, `call` is never called.
  Status CallAfter(void* stream, void (*call)(void*), void* argument);
  // Asks the driver whether the GPU works. If the GPU is lost, this fails and
  // is_lost() is true. Calls that CallAfter has queued are then never made, so
  // the caller must do their work itself. Other errors change nothing.
  Status Poll();
  // Finds whether work that is queued on the stream now would become part of a
  // CUDA graph, or would spoil the capture of one.
  Status IsCapturing(void* stream, bool* captures);

  // Allocates GPU memory that only this process uses, aligned to 256 bytes.
  Status Allocate(std::uint64_t bytes, std::unique_ptr<OwnMemory>* out);
  // Queues a copy from the host to the GPU. The caller keeps the host's memory
  // unchanged until the copy is done.
  Status Upload(void* stream, const void* from, std::uint64_t to,
                std::uint64_t bytes);
  // Returns a stream that no framework uses; it exists until the process ends.
  void* own_stream() const;
  // Makes an event that has not been recorded.
  Status MakeEvent(std::unique_ptr<Event>* out);
  // Waits until all work that this process has queued on the GPU is done. If a
  // stream is being captured, fails and ends the capture.
  Status AwaitAll();

 private:
  friend class Event;
  friend class ImportedMemory;
  friend class OwnMemory;

  Gpu(const cuda::PluginTrainerCalls& calls, std::string uuid);
  // Runs `call`, which calls the plug-in. Passes it a buffer for the text of an
  // error.
  template <typename Call>
  Status Ask(Call call) const;

  const cuda::PluginTrainerCalls& calls_;
  const std::string uuid_;
  const pid_t process_;                    // the process that opened the GPU
  cuda::PluginTrainerGpu* gpu_ = nullptr;  // the plug-in's handle
  std::atomic<bool> lost_{false};
};

// GPU memory of the daemon's that this process has mapped. The memory lives as
// long as this object, even if the daemon frees the memory or ends.
//
// Immutable, and so thread-safe. Shares its Gpu. The owner destroys it once no
// queued work uses it. Destruction blocks for the driver; in a forked child, it
// does nothing. Has no errors.
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

// GPU memory that only this process uses.
//
// Immutable, and so thread-safe. Shares its Gpu. The owner destroys it once no
// queued work uses it. Destruction blocks for the driver; in a forked child, it
// does nothing. Has no errors.
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

// A CUevent: the moment at which a stream has done all work that it had queued
// when the event was recorded. An event that was never recorded counts as
// reached.
//
// Thread-safe. Shares its Gpu. The owner may destroy it while streams wait for
// it. Only Await blocks for the stream. Fails as Gpu does.
class Event {
 public:
  ~Event();
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  // Records the work that the stream has queued so far. Fails if the stream is
  // captured.
  Status Record(void* stream);
  // Makes work that is queued on `stream` later wait for the recorded work.
  // `stream` must not be captured.
  Status HoldBack(void* stream) const;
  // Finds whether the recorded work is done.
  Status IsReached(bool* reached) const;
  // Waits until the recorded work is done.
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
