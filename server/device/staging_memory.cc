// Makes pinned memory. The order of the steps matters. The NUMA node and huge
// pages are asked for before the first page exists. All pages are allocated
// before they are pinned, because pinning fixes pages where they are. Memory
// without writers is anonymous. Memory for workers is a memfd whose size is
// sealed, so that no process can truncate it during a copy.

#include "server/device/staging_memory.h"

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "absl/status/status.h"
#include "server/base/fd.h"
#include "server/base/status.h"
#include "spdlog/spdlog.h"

namespace forebay::device {
namespace {

constexpr std::uint64_t kPage = 4096;

// Asks the kernel to take pages from a NUMA node. This is only a hint: the node
// may be full, and a container may forbid the call.
void PreferNode(void* data, std::uint64_t bytes, int node) {
  constexpr std::size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, 16> nodes = {};
  const auto number = static_cast<std::size_t>(node);
  if (node < 0 || number >= nodes.size() * kWordBits) return;
  nodes[number / kWordBits] = 1UL << (number % kWordBits);
  syscall(SYS_mbind, data, bytes, MPOL_PREFERRED, nodes.data(),
          nodes.size() * kWordBits, 0);
}

absl::Status NoMemory() {
  return absl::ResourceExhaustedError("no memory to copy batches from");
}

// Makes a memfd whose size cannot change.
absl::StatusOr<base::Fd> SharedFile(std::uint64_t bytes) {
  base::Fd fd(memfd_create("forebay-staging", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0 ||
      fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) != 0)
    return base::ErrnoStatus(errno, "making staging memory");
  return fd;
}

}  // namespace

StagingMemory::StagingMemory(std::shared_ptr<cuda::Gpu> gpu, std::uint8_t* data,
                             std::uint64_t bytes)
    : gpu_(std::move(gpu)), data_(data), bytes_(bytes) {}

absl::StatusOr<std::shared_ptr<StagingMemory>> StagingMemory::Create(
    std::shared_ptr<cuda::Gpu> gpu, int numa_node, std::uint64_t bytes,
    bool has_writers) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  base::Fd fd;
  if (has_writers) {
    FOREBAY_ASSIGN_OR_RETURN(fd, SharedFile(bytes));
  }
  void* const data =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
           fd ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd.get(), 0);
  if (data == MAP_FAILED) return NoMemory();
  std::shared_ptr<StagingMemory> memory(new StagingMemory(
      std::move(gpu), static_cast<std::uint8_t*>(data), bytes));
  memory->fd_ = std::move(fd);
  FOREBAY_RETURN_IF_ERROR(memory->Populate(numa_node));
  FOREBAY_RETURN_IF_ERROR(memory->gpu_->Register(data, bytes));
  memory->pinned_ = true;
  return memory;
}

absl::Status StagingMemory::Populate(int numa_node) {
  // A forked child needs none of these pages, and fork() would copy pinned
  // pages at once.
  madvise(data_, bytes_, MADV_DONTFORK);
  madvise(data_, bytes_, MADV_HUGEPAGE);
  PreferNode(data_, bytes_, numa_node);
  if (madvise(data_, bytes_, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
    return NoMemory();
  // A kernel before 5.14 does not know MADV_POPULATE_WRITE. The memfd's pages
  // are then allocated here, because a missing page would later cause a SIGBUS.
  if (fd_ && fallocate(fd_.get(), 0, 0, static_cast<off_t>(bytes_)) != 0)
    return NoMemory();
  return absl::OkStatus();
}

absl::Status StagingMemory::Seal(std::shared_ptr<const void> shared) {
  shared_ = std::move(shared);
  if (fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0)
    return base::ErrnoStatus(errno, "sealing staging memory");
  fd_.Close();
  return absl::OkStatus();
}

StagingMemory::~StagingMemory() {
  if (pinned_) {
    const absl::Status unpinned = gpu_->Unregister(data_);
    // The loss of a GPU (DATA_LOSS) has been reported already.
    if (!unpinned.ok() && !absl::IsDataLoss(unpinned))
      spdlog::warn("{}", unpinned.ToString());
  }
  shared_ = nullptr;
  munmap(data_, bytes_);
}

}  // namespace forebay::device
