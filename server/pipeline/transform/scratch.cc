#include "server/pipeline/transform/scratch.h"

#include <sys/mman.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace forebay::pipeline::transform {
namespace {

constexpr std::uint64_t kAlignment = 64;
constexpr std::uint64_t kPadding = 64;
constexpr std::uint64_t kPageBytes = 4096;
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
  elsewhere_ = 0;
  ran_out_ = false;
  if (peak_ > kKeptBytes) GiveBackFrom(kKeptBytes);
}

absl::Status Scratch::Count(std::uint64_t bytes, std::string_view what) {
  if (bytes > left()) return Refuse(bytes, 1, what);
  elsewhere_ += bytes;
  // Memory that earlier samples left here counts, too.
  const std::uint64_t kept = left() / kPageBytes * kPageBytes;
  if (peak_ > kept) GiveBackFrom(kept);
  return absl::OkStatus();
}

void Scratch::GiveBackFrom(std::uint64_t offset) {
  // If it fails, the process just keeps the memory, within the limit.
  (void)madvise(base_ + offset, limit_ - offset, MADV_DONTNEED);
  peak_ = offset;
}

absl::Status Scratch::Refuse(std::uint64_t count, std::uint64_t size,
                             std::string_view what) {
  ran_out_ = true;
  return absl::ResourceExhaustedError(absl::StrCat(
      absl::string_view(what.data(), what.size()), " needs ", count, " x ",
      size, " bytes, but only ", left(), " of an image's ", limit_,
      " bytes of scratch are left (image.scratch_limit, if memory.limit has "
      "room for it)"));
}

absl::StatusOr<void*> Scratch::AllocateBytes(std::uint64_t count,
                                             std::uint64_t size,
                                             std::string_view what) {
  const std::uint64_t slack = kAlignment + kPadding;
  if (base_ == nullptr || left() < slack || count > (left() - slack) / size)
    return Refuse(count, size, what);
  void* memory = base_ + used_;
  const std::uint64_t bytes = count * size + kPadding;
  used_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
  return memory;
}

}  // namespace forebay::pipeline::transform
