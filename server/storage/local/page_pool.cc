#include "server/storage/local/page_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <iterator>

namespace forebay::storage::local {
namespace {

constexpr std::size_t kPage = 4096;

// Rounds `length` bytes up to whole pages, at least one.
std::size_t WholePages(std::size_t length) {
  return (std::max<std::size_t>(length, 1) + kPage - 1) / kPage * kPage;
}

// Returns mapped memory, or null if there is none.
std::uint8_t* Map(std::size_t length) {
  void* memory = mmap(nullptr, length, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(memory);
}

absl::Span<std::uint8_t> MapPiece(std::size_t bytes) {
  if (bytes < kPage) return {};
  const std::size_t length = bytes / kPage * kPage;
  std::uint8_t* const memory = Map(length);
  if (memory == nullptr) return {};
  return {memory, length};
}

}  // namespace

PagePool::PagePool(std::size_t bytes, std::size_t spare_bytes)
    : piece_(MapPiece(bytes)), spare_bytes_(spare_bytes) {
  if (!piece_.empty()) free_[0] = piece_.size();
}

PagePool::~PagePool() {
  if (!piece_.empty()) munmap(piece_.data(), piece_.size());
  base::MutexLock lock(&mutex_);
  for (const auto& [length, buffers] : spares_)
    for (std::uint8_t* buffer : buffers) munmap(buffer, length);
}

std::shared_ptr<std::uint8_t> PagePool::Take(std::size_t length) {
  if (length > SIZE_MAX / 2) return nullptr;
  const std::size_t whole = WholePages(length);
  if (const std::optional<std::size_t> offset = Cut(whole)) {
    return {piece_.data() + *offset,
            [pool = shared_from_this(), whole](std::uint8_t* buffer) {
              pool->GiveBack(buffer, whole);
            }};
  }
  std::uint8_t* buffer = TakeSpare(whole);
  if (buffer == nullptr) buffer = Map(whole);
  if (buffer == nullptr) return nullptr;
  return {buffer, [pool = shared_from_this(), whole](std::uint8_t* mapped) {
            pool->GiveBackMapped(mapped, whole);
          }};
}

std::size_t PagePool::spare() const {
  base::MutexLock lock(&mutex_);
  return spare_;
}

std::uint8_t* PagePool::TakeSpare(std::size_t length) {
  base::MutexLock lock(&mutex_);
  const auto found = spares_.find(length);
  if (found == spares_.end() || found->second.empty()) return nullptr;
  std::uint8_t* const buffer = found->second.back();
  found->second.pop_back();
  spare_ -= length;
  return buffer;
}

void PagePool::GiveBackMapped(std::uint8_t* buffer, std::size_t length) {
  {
    base::MutexLock lock(&mutex_);
    if (length <= spare_bytes_ && spare_ <= spare_bytes_ - length) {
      spares_[length].push_back(buffer);
      spare_ += length;
      return;
    }
  }
  munmap(buffer, length);
}

std::size_t PagePool::free() const {
  base::MutexLock lock(&mutex_);
  std::size_t sum = 0;
  for (const auto& [offset, length] : free_) sum += length;
  return sum;
}

// The bytes come from the first part that is long enough.
std::optional<std::size_t> PagePool::Cut(std::size_t length) {
  base::MutexLock lock(&mutex_);
  for (auto part = free_.begin(); part != free_.end(); ++part) {
    const auto [offset, size] = *part;
    if (size < length) continue;
    free_.erase(part);
    if (size > length) free_[offset + length] = size - length;
    return offset;
  }
  return std::nullopt;
}

void PagePool::GiveBack(std::uint8_t* buffer, std::size_t length) {
  const std::size_t offset = buffer - piece_.data();
  base::MutexLock lock(&mutex_);
  auto part = free_.emplace(offset, length).first;
  if (const auto next = std::next(part);
      next != free_.end() && offset + length == next->first) {
    part->second += next->second;
    free_.erase(next);
  }
  if (part == free_.begin()) return;
  if (const auto before = std::prev(part);
      before->first + before->second == offset) {
    before->second += part->second;
    free_.erase(part);
  }
}

}  // namespace forebay::storage::local
