// Hands out memory from one reserved range of addresses.
//
// Allocating moves a mark (`used_`) forward; a reset moves it back. The first
// kKeptBytes stay with the process, so that usual samples cause no page faults.
// At a reset, pages beyond these bytes go back to the system. Only pages before
// `peak_` or `used_` may be backed by memory. `peak_` grows to `used_` at a
// reset, and falls when pages are given back. Bytes that a decoder allocates
// elsewhere count against the same limit; to make room for them, kept pages are
// given back.

#include "server/pipeline/transform/scratch.h"

#include <sys/mman.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace forebay::pipeline::transform {
namespace {

// Bytes to which allocations are aligned: a cache line, and the longest vector.
constexpr std::uint64_t kAlignment = 64;
// Readable bytes behind each allocation, for vector loads.
constexpr std::uint64_t kPadding = 64;
constexpr std::uint64_t kPageBytes = 4096;
// The most bytes of memory that are kept between samples. A crop of a
// photograph of 4000 x 3000 pixels needs less memory.
constexpr std::uint64_t kKeptBytes = std::uint64_t{16} << 20;

constexpr std::uint64_t RoundUp(std::uint64_t bytes, std::uint64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

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

void Scratch::ResetBehind(absl::Span<const std::uint8_t> first) {
  peak_ = std::max(peak_, used_);
  const auto begin = reinterpret_cast<std::uintptr_t>(first.data());
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  const bool is_here = begin >= base && begin - base < used_;
  used_ =
      is_here ? RoundUp(begin - base + first.size() + kPadding, kAlignment) : 0;
  elsewhere_ = 0;
  ran_out_ = false;
  if (peak_ > kKeptBytes) GiveBackFrom(kKeptBytes);
}

absl::Status Scratch::Count(std::uint64_t bytes, std::string_view what) {
  if (bytes > left()) return Refuse(bytes, 1, what);
  elsewhere_ += bytes;
  // Memory that earlier samples left backed in the range also counts against
  // the limit.
  const std::uint64_t kept = (limit_ - elsewhere_) / kPageBytes * kPageBytes;
  if (peak_ > kept) GiveBackFrom(kept);
  return absl::OkStatus();
}

void Scratch::GiveBackFrom(std::uint64_t offset) {
  offset = std::max(offset, RoundUp(used_, kPageBytes));
  if (offset >= peak_) return;
  // If madvise fails, the process keeps the memory, within the limit.
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
  used_ += RoundUp(bytes, kAlignment);
  return memory;
}

}  // namespace forebay::pipeline::transform
