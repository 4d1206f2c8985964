#ifndef FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_DRIVER_H_
#define FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_DRIVER_H_

#include <cuda.h>
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/device/fake_libcuda/address_space.h"
#include "tests/device/fake_libcuda/gpu_memory.h"
#include "tests/device/fake_libcuda/handle_table.h"
#include "tests/device/fake_libcuda/kernels.h"
#include "tests/device/fake_libcuda/script.h"
#include "tests/device/fake_libcuda/stream.h"

namespace forebay::fake_libcuda {

// A GPU's context in this process. `cost` is the GPU memory that the context
// takes.
struct Context {
  CUdevice device = 0;
  const GpuScript* gpu = nullptr;
  std::shared_ptr<GpuMemory> cost;
  std::shared_ptr<Stream> default_stream;
  std::atomic<bool> is_destroyed{false};
};

struct StreamObject {
  std::shared_ptr<Context> context;
  std::shared_ptr<Stream> queue;
  // Whether the stream is captured: then it runs nothing. And whether calls of
  // other threads spoil the capture.
  std::atomic<bool> captures{false};
  std::atomic<bool> captures_globally{false};
  std::atomic<bool> capture_is_spoilt{false};
};

struct EventObject {
  std::shared_ptr<Context> context;
  std::mutex mutex;
  // The stream and the operation that were recorded last. The stream is null if
  // nothing was recorded. Guarded by mutex.
  std::shared_ptr<Stream> queue;
  std::uint64_t operation = 0;
};

struct ModuleObject {
  std::shared_ptr<Context> context;
};

struct FunctionObject {
  std::shared_ptr<Context> context;
  const Kernel* kernel = nullptr;
};

// Memory that cuMemAlloc has allocated.
struct PlainMemory {
  std::shared_ptr<Context> context;
  std::size_t bytes = 0;
};

// The fake driver in this process.
//
// Thread-safe. Lives until the process has ended, because threads of streams go
// on when main has returned. Errors are the driver's.
class Driver {
 public:
  static Driver& Get();

  const Script& script() const { return script_; }
  StickyError& error() { return error_; }
  AddressSpace& space() { return space_; }

  // Begins every function of the driver. Fails as the script says. Also fails
  // in a forked child, in a host function and after a sticky error.
  CUresult Enter(const char* call);
  CUresult Init();
  // Counts a call, and returns the fault that the script has for it.
  std::optional<FaultScript> TakeFault(std::string_view call);
  // Applies the fault that the script has for an operation: stalls, or returns
  // the error.
  CUresult Suffer(std::string_view operation);
  // Returns a GPU; null if there is no such GPU.
  const GpuScript* FindGpu(CUdevice device) const;
  // Adds a line to the log: this process's id, `what` it did, the GPU and the
  // bytes.
  void Log(const char* what, const std::string& uuid, std::uint64_t bytes);
  std::shared_ptr<Stream> StartStream();

  CUresult Retain(CUdevice device, CUcontext* out);
  CUresult Release(CUdevice device);
  bool IsActive(CUdevice device);
  // Returns the calling thread's context; null if it has none, or a destroyed
  // one.
  std::shared_ptr<Context> Current() const;
  // Finds a stream that the current context may use. A null handle means the
  // context's default stream.
  CUresult FindStream(CUstream handle, std::shared_ptr<StreamObject>* out);

  // Checks a call that does not go together with a global capture of a stream.
  // During such a capture the call spoils the capture and fails, unless the
  // thread's mode is relaxed.
  CUresult CheckCapture();
  // Waits for all streams of a context.
  CUresult AwaitContext(const std::shared_ptr<Context>& context);

  HandleTable<CUcontext, Context> contexts;
  HandleTable<CUstream, StreamObject> streams;
  HandleTable<CUevent, EventObject> events;
  HandleTable<CUmodule, ModuleObject> modules;
  HandleTable<CUfunction, FunctionObject> functions;
  HandleTable<CUmemGenericAllocationHandle, GpuMemory> memories;
  HandleTable<CUdeviceptr, PlainMemory> plain;

 private:
  struct Primary {
    unsigned retained = 0;
    CUcontext handle = nullptr;
  };

  Driver();
  void DestroyLocked(Primary& primary);

  const Script script_;
  StickyError error_;
  AddressSpace space_;
  std::mutex mutex_;
  // Guarded by mutex_.
  pid_t initialized_in_ = 0;
  std::map<CUdevice, Primary> primaries_;
  std::map<std::string, std::uint64_t, std::less<>> calls_;
  std::uint64_t streams_started_ = 0;
};

// Returns the contexts of the calling thread. The last one is the current
// context.
std::vector<CUcontext>& ThreadContexts();
// Returns the capture mode of the calling thread.
CUstreamCaptureMode& ThreadCaptureMode();

// Runs `body(driver)` as the driver's function `call`.
template <typename Body>
CUresult Call(const char* call, Body body) {
  Driver& driver = Driver::Get();
  const CUresult entered = driver.Enter(call);
  return entered == CUDA_SUCCESS ? body(driver) : entered;
}

// Runs `body(driver, context)` as `call`, in the current context.
template <typename Body>
CUresult CallInContext(const char* call, Body body) {
  return Call(call, [&](Driver& driver) {
    const std::shared_ptr<Context> context = driver.Current();
    return context == nullptr ? CUDA_ERROR_INVALID_CONTEXT
                              : body(driver, context);
  });
}

// Runs `body(driver)` as the driver's function `call`, which fails during
// global captures.
template <typename Body>
CUresult CallBesideNoCapture(const char* call, Body body) {
  return Call(call, [&](Driver& driver) {
    const CUresult allowed = driver.CheckCapture();
    return allowed == CUDA_SUCCESS ? body(driver) : allowed;
  });
}

}  // namespace forebay::fake_libcuda

#endif  // FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_DRIVER_H_
