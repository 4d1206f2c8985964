#ifndef FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_ADDRESS_SPACE_H_
#define FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_ADDRESS_SPACE_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tests/device/fake_libcuda/gpu_memory.h"

namespace forebay::fake_libcuda {

// The mapping through which the fake GPU accesses a piece of memory. It is a
// second mapping, at an address that the program never learns. The memory stays
// mapped as long as the object lives.
class Window {
 public:
  // Maps the memory; null if that fails.
  static std::shared_ptr<Window> Open(std::shared_ptr<GpuMemory> memory);
  ~Window();

  const GpuMemory& memory() const { return *memory_; }
  char* data() const { return data_; }

 private:
  Window(std::shared_ptr<GpuMemory> memory, char* data);

  const std::shared_ptr<GpuMemory> memory_;
  char* const data_;
};

// Memory that an operation has found; `window` keeps it mapped.
struct Found {
  std::shared_ptr<Window> window;
  char* data = nullptr;  // null if the address is illegal
};

// The GPU addresses of a process, which no CPU may touch, and the addresses of
// host memory that is registered with GPUs.
//
// Thread-safe. Never blocks for long. Errors are those of the driver's
// functions of the same names.
class AddressSpace {
 public:
  explicit AddressSpace(std::size_t granularity) : granularity_(granularity) {}

  CUresult Reserve(std::size_t bytes, std::size_t alignment, CUdeviceptr* out);
  CUresult Free(CUdeviceptr address, std::size_t bytes);
  CUresult Map(CUdeviceptr address, std::size_t bytes,
               std::shared_ptr<GpuMemory> memory);
  CUresult Unmap(CUdeviceptr address, std::size_t bytes);
  // Lets a GPU use the memory that is mapped at `address`.
  CUresult SetAccess(CUdeviceptr address, std::size_t bytes,
                     const std::string& uuid, CUmemAccess_flags access);

  // Returns the memory that the GPU sees at `address`.
  Found Find(CUdeviceptr address, std::size_t bytes, const std::string& uuid,
             bool writes) const;
  // Returns the UUID of the GPU whose memory is mapped at an address; empty if
  // no memory is.
  std::string GpuAt(CUdeviceptr address) const;

  CUresult RegisterHost(void* address, std::size_t bytes);
  CUresult UnregisterHost(void* address);
  bool IsRegistered(const void* address, std::size_t bytes) const;
  void UnregisterAll();

 private:
  struct Mapping {
    std::size_t bytes = 0;
    std::shared_ptr<Window> window;
    std::map<std::string, CUmemAccess_flags> access;  // by the GPU's UUID
  };
  struct Reservation {
    std::size_t bytes = 0;
    void* base = nullptr;  // the begin of the whole mapping, which is larger
    std::size_t base_bytes = 0;
  };

  bool IsReservedLocked(CUdeviceptr address, std::size_t bytes) const;
  bool IsMappedLocked(CUdeviceptr address, std::size_t bytes) const;

  const std::size_t granularity_;
  mutable std::mutex mutex_;
  // Reservations and mappings by address; guarded by mutex_.
  std::map<CUdeviceptr, Reservation> reservations_;
  std::map<CUdeviceptr, Mapping> mappings_;
  std::map<std::uintptr_t, std::size_t>
      registered_;  // bytes; guarded by mutex_
};

}  // namespace forebay::fake_libcuda

#endif  // FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_ADDRESS_SPACE_H_
