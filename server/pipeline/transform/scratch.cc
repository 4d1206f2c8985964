#include "server/pipeline/transform/scratch.h"

#include <sys/mman.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace forebay::pipeline::transform {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kPadding = 64;
// A 4000 x 3000 photograph's crop stays below this.
constexpr std::uint64_t kKeptBytes = std::uint64_t{16} << 20;

}  // namespace

Scratch::Scratch(std::uint64_t limit_bytes) : limit_(limit_bytes) {
  if (limit_ == 0) return;
  void* base = mmap(nullptr, limit_, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base != MAP_FAILED) base_ = static_cast<std::byte*>(base);
}

Scratch::~Scratch() {
  if (base_ != nullptr) munmap(base_, limit_);
}

void Scratch::Reset() {
  peak_ = std::max(peak_, used_);
  used_ = 0;
  if (peak_ <= kKeptBytes) return;
  // Failure only means that the memory stays ours, within the limit.
  (void)madvise(base_ + kKeptBytes, limit_ - kKeptBytes, MADV_DONTNEED);
  peak_ = 0;
}

absl::StatusOr<void*> Scratch::AllocateBytes(std::uint64_t count,
                                             std::uint64_t size,
                                             std::string_view what) {
  const std::uint64_t left = limit_ - used_;
  const std::uint64_t slack = kAlignment + kPadding;
  if (base_ == nullptr || left < slack || count > (left - slack) / size) {
    return absl::ResourceExhaustedError(
        absl::StrCat(absl::string_view(what.data(), what.size()), " needs ",
                     count, " x ", size, " bytes, but only ", left,
                     " of a worker's ", limit_, " bytes of scratch are left"));
  }
  void* memory = base_ + used_;
  const std::uint64_t bytes = count * size + kPadding;
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return memory;
}

}  // namespace forebay::pipeline::transform
