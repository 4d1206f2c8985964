#include "server/device/staging_memory.h"

#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <utility>

#include "absl/status/status.h"
#include "server/base/status.h"
#include "spdlog/spdlog.h"

namespace forebay::device {
namespace {

constexpr std::uint64_t kPage = 4096;

// Only a hint: a node may be full, and a container may not be allowed to ask.
void PreferNode(void* data, std::uint64_t bytes, int node) {
  constexpr std::size_t kWordBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, 16> nodes = {};
  const auto number = static_cast<std::size_t>(node);
  if (node < 0 || number >= nodes.size() * kWordBits) return;
  nodes[number / kWordBits] = 1UL << (number % kWordBits);
  syscall(SYS_mbind, data, bytes, MPOL_PREFERRED, nodes.data(),
          nodes.size() * kWordBits, 0);
}

}  // namespace

StagingMemory::StagingMemory(std::shared_ptr<cuda::Gpu> gpu, std::uint8_t* data,
                             std::uint64_t bytes)
    : gpu_(std::move(gpu)), data_(data), bytes_(bytes) {}

absl::StatusOr<std::shared_ptr<StagingMemory>> StagingMemory::Create(
    std::shared_ptr<cuda::Gpu> gpu, int numa_node, std::uint64_t bytes) {
  bytes = (bytes + kPage - 1) / kPage * kPage;
  void* const data = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (data == MAP_FAILED)
    return absl::ResourceExhaustedError("no memory to copy batches from");
  std::shared_ptr<StagingMemory> memory(new StagingMemory(
      std::move(gpu), static_cast<std::uint8_t*>(data), bytes));
  // A forked child needs none of it, and a pinned page is copied at once.
  madvise(data, bytes, MADV_DONTFORK);
  madvise(data, bytes, MADV_HUGEPAGE);
  PreferNode(data, bytes, numa_node);
  if (madvise(data, bytes, MADV_POPULATE_WRITE) != 0 && errno != EINVAL)
    return absl::ResourceExhaustedError("no memory to copy batches from");
  FOREBAY_RETURN_IF_ERROR(memory->gpu_->Register(data, bytes));
  memory->pinned_ = true;
  return memory;
}

StagingMemory::~StagingMemory() {
  if (pinned_) {
    const absl::Status unpinned = gpu_->Unregister(data_);
    // Of a GPU that is lost, this says nothing new.
    if (!unpinned.ok() && !absl::IsDataLoss(unpinned))
      spdlog::warn("{}", unpinned.ToString());
  }
  munmap(data_, bytes_);
}

}  // namespace forebay::device
