#ifndef FOREBAY_SERVER_SLOTS_SHARED_MEMORY_H_
#define FOREBAY_SERVER_SLOTS_SHARED_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/fd.h"

namespace forebay::slots {

// The access that a descriptor of the memory gives a client.
enum class ClientAccess {
  // The client may map the memory for reading, or privately. The client can
  // never change what others see.
  kRead,
  // The client may also map the memory for writing.
  kReadWrite,
};

// Memory that the daemon shares with clients: a memfd, which the daemon maps
// for writing. Its size is sealed and its pages exist from the start, so no
// access can raise SIGBUS, neither here nor in a client.
//
// Any thread may write into the mapping; the object itself is not thread-safe.
// Owns the descriptor and the mapping. The pages exist until the clients'
// mappings are gone too. Create and CreateUnsealed block while the kernel
// clears the pages. Errors: RESOURCE_EXHAUSTED if the system or its cgroup has
// no memory left; otherwise the error of the failed system call.
class SharedMemory {
 public:
  // Creates sealed memory. `name` appears in /proc/PID/maps; `bytes` is rounded
  // up to whole pages of 4096 bytes.
  static absl::StatusOr<SharedMemory> Create(const char* name,
                                             std::uint64_t bytes,
                                             ClientAccess access);
  // Creates memory that any holder of the descriptor may map for writing until
  // Seal is called. Writable mappings made before Seal stay writable after it,
  // so no client may get the descriptor before Seal.
  static absl::StatusOr<SharedMemory> CreateUnsealed(const char* name,
                                                     std::uint64_t bytes);
  // Fixes the access of all mappings that are made from now on, and forbids
  // further seals. Called once.
  absl::Status Seal(ClientAccess access);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&& other) noexcept;
  ~SharedMemory();

  int fd() const { return fd_.get(); }
  std::uint8_t* data() const { return data_; }
  std::uint64_t bytes() const { return bytes_; }

 private:
  SharedMemory(base::Fd fd, std::uint8_t* data, std::uint64_t bytes)
      : fd_(std::move(fd)), data_(data), bytes_(bytes) {}
  void Unmap();

  base::Fd fd_;
  std::uint8_t* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace forebay::slots

#endif  // FOREBAY_SERVER_SLOTS_SHARED_MEMORY_H_
