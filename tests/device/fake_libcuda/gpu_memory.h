#ifndef FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_GPU_MEMORY_H_
#define FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_GPU_MEMORY_H_

#include <cuda.h>
#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "proto/fd.h"

namespace forebay::fake_libcuda {

// Describes a piece of a GPU's memory. The name of the piece's memfd contains
// it.
struct Label {
  std::string uuid;  // the GPU's
  std::string kind;  // "memory", or "context"
  std::uint64_t bytes = 0;
};

// Reads the label of a descriptor; nullopt if it is not a GPU's memory.
std::optional<Label> ReadLabel(int fd);

// A piece of a GPU's memory. It is a memfd, and so it lives until the last
// process has closed and unmapped it, however that process ends.
class GpuMemory {
 public:
  // Makes a piece of memory. Memory of an allocation is filled with 0xA5, so
  // that tests notice reads of bytes that nobody has written.
  static std::shared_ptr<GpuMemory> Make(Label label);
  // Imports what another process has exported. Returns null if `fd` is not a
  // GPU's memory.
  static std::shared_ptr<GpuMemory> Import(proto::Fd fd);

  const Label& label() const { return label_; }
  int fd() const { return fd_.get(); }

 private:
  GpuMemory(proto::Fd fd, Label label);

  const proto::Fd fd_;
  const Label label_;
};

// A live piece of memory on the host, and a process that has a descriptor of
// it.
struct LivePiece {
  std::uint64_t inode = 0;
  pid_t process = 0;
  Label label;
};

// Returns the pieces of all processes whose descriptors this process may read.
// Descriptors in transit through a socket are not seen. Blocks while it reads
// /proc.
std::vector<LivePiece> LivePieces();

// Returns the number of bytes of a GPU's memory that are in use on the whole
// host.
std::uint64_t BytesAlive(const std::string& uuid);

// Whether another process has a context on the GPU.
bool HasForeignContext(const std::string& uuid);

}  // namespace forebay::fake_libcuda

#endif  // FOREBAY_TESTS_DEVICE_FAKE_LIBCUDA_GPU_MEMORY_H_
