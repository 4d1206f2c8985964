#ifndef FOREBAY_SERVER_ARENA_SHARED_MEMORY_H_
#define FOREBAY_SERVER_ARENA_SHARED_MEMORY_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/fd.h"

namespace forebay::arena {

// The access that a descriptor of the memory gives a client.
enum class ClientAccess {
  kRead,       // map it for reading, or privately; never change what others see
  kReadWrite,  // write into it
};

// Memory that is shared with clients by descriptor: a memfd, mapped here for
// writing. Its size is sealed and its pages exist from the start, so that no
// access can fault.
//
// Any thread may write into the mapping; the object itself is not thread-safe.
// Owns descriptor and mapping; the memory lives until the clients' mappings are
// gone too. Create blocks while pages are cleared. Errors: RESOURCE_EXHAUSTED,
// INTERNAL.
class SharedMemory {
 public:
  // `name` appears in /proc/PID/maps. `bytes` is rounded up to whole pages.
  static absl::StatusOr<SharedMemory> Create(const char* name,
                                             std::uint64_t bytes,
                                             ClientAccess access);
  // Makes memory that anyone who gets the descriptor may map for writing, until
  // it is sealed: such mappings stay. No client may get it before.
  static absl::StatusOr<SharedMemory> CreateUnsealed(const char* name,
                                                     std::uint64_t bytes);
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

}  // namespace forebay::arena

#endif  // FOREBAY_SERVER_ARENA_SHARED_MEMORY_H_
