#include "server/slots/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "proto/shm_mapping.h"
#include "server/base/status.h"

namespace forebay::slots {
namespace {

// The size of a small page on x86-64, in bytes.
constexpr std::uint64_t kPage = 4096;
// MADV_COLLAPSE of <asm-generic/mman-common.h>, which headers older than Linux
// 6.1 lack.
constexpr int kMadviseCollapse = 25;

// Asks the kernel to use huge pages for all parts of the memory that fill a
// huge page. Huge pages save page faults, page tables and address translations,
// here and in every client. The request is a hint: the kernel may have no free
// huge page. Before Linux 6.1 the system's policy for shared memory
// (shmem_enabled) overrules it.
void AskForHugePages(int fd, std::uint8_t* data, std::uint64_t bytes) {
  const std::uint64_t whole =
      bytes / proto::kHugePageBytes * proto::kHugePageBytes;
  if (whole == 0) return;
  madvise(data, whole, MADV_HUGEPAGE);
  // MADV_COLLAPSE skips a range that has no page at all. The range of each huge
  // page therefore gets its first small page here.
  for (std::uint64_t at = 0; at < whole; at += proto::kHugePageBytes) {
    if (fallocate(fd, 0, static_cast<off_t>(at), kPage) != 0) return;
  }
  madvise(data, whole, kMadviseCollapse);
}

// Makes every page exist now. Otherwise a client's or the daemon's first access
// could fail when memory is short, and a failed access is a SIGBUS.
absl::Status PopulatePages(int fd, std::uint8_t* data, std::uint64_t bytes) {
  // MADV_POPULATE_WRITE came with Linux 5.14; older kernels answer EINVAL, and
  // fallocate below creates the pages instead.
  if (madvise(data, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL) {
    return absl::ResourceExhaustedError(
        "no memory for a shared slot: the system or its cgroup has none left");
  }
  if (fallocate(fd, 0, 0, static_cast<off_t>(bytes)) != 0) {
    return base::ErrnoStatus(errno, "allocating shared memory");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<SharedMemory> SharedMemory::Create(const char* name,
                                                  std::uint64_t bytes,
                                                  ClientAccess access) {
  FOREBAY_ASSIGN_OR_RETURN(SharedMemory memory, CreateUnsealed(name, bytes));
  FOREBAY_RETURN_IF_ERROR(memory.Seal(access));
  return memory;
}

absl::StatusOr<SharedMemory> SharedMemory::CreateUnsealed(const char* name,
                                                          std::uint64_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  base::Fd fd(memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return base::ErrnoStatus(errno, "creating shared memory");
  if (ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return base::ErrnoStatus(errno, "sizing shared memory");
  }
  void* data =
      proto::MapShared(bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get());
  if (data == MAP_FAILED) {
    return base::ErrnoStatus(errno, "mapping shared memory");
  }
  SharedMemory memory(std::move(fd), static_cast<std::uint8_t*>(data), bytes);
  AskForHugePages(memory.fd(), memory.data(), memory.bytes());
  FOREBAY_RETURN_IF_ERROR(
      PopulatePages(memory.fd(), memory.data(), memory.bytes()));
  if (fcntl(memory.fd(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return base::ErrnoStatus(errno, "sealing shared memory");
  return memory;
}

absl::Status SharedMemory::Seal(ClientAccess access) {
  // F_SEAL_FUTURE_WRITE does not affect mappings that exist already, so the
  // daemon's own mapping stays writable.
  int seals = F_SEAL_SEAL;
  if (access == ClientAccess::kRead) seals |= F_SEAL_FUTURE_WRITE;
  if (fcntl(fd(), F_ADD_SEALS, seals) != 0)
    return base::ErrnoStatus(errno, "sealing shared memory");
  return absl::OkStatus();
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept
    : fd_(std::move(other.fd_)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

SharedMemory& SharedMemory::operator=(SharedMemory&& other) noexcept {
  if (this != &other) {
    Unmap();
    fd_ = std::move(other.fd_);
    data_ = std::exchange(other.data_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

SharedMemory::~SharedMemory() { Unmap(); }

void SharedMemory::Unmap() {
  if (data_ != nullptr) munmap(std::exchange(data_, nullptr), bytes_);
}

}  // namespace forebay::slots
