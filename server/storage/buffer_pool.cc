#include "server/storage/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>

namespace forebay::storage {
namespace {

// Returns the size class of `length` bytes. A class of number 4 * shift +
// quarter holds (4 + quarter) << (shift + min_shift - 2) bytes. Above the
// smallest class, a buffer is therefore at most a quarter larger than `length`.
std::size_t ClassOf(std::size_t length, std::size_t min_shift) {
  const std::size_t quarter_size = std::size_t{1} << (min_shift - 2);
  const std::size_t units =
      std::max<std::size_t>((length + quarter_size - 1) / quarter_size, 4);
  const std::size_t shift = std::bit_width(units) - 3;
  const std::size_t rounded = (units + (std::size_t{1} << shift) - 1) >> shift;
  // `rounded` is 4 to 8. A value of 8 means 4 at the next power of two, and the
  // sum below gives the number of that class.
  return 4 * shift + rounded - 4;
}

// Returns the number of bytes that a buffer of the class has. This is the
// inverse of ClassOf.
std::size_t ClassSize(std::size_t size_class, std::size_t min_shift) {
  return (4 + size_class % 4) << (size_class / 4 + min_shift - 2);
}

// Buffers of this size or more are mapped (mmap). They come and go on different
// threads in sizes of all kinds, and some stay for good. In malloc's arenas
// they would leave ever more holes.
constexpr std::size_t kMinMapped = 16 << 10;

// Returns memory of `size` bytes from malloc or mmap, or null if there is none.
std::uint8_t* Allocate(std::size_t size) {
  if (size < kMinMapped) return static_cast<std::uint8_t*>(std::malloc(size));
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::uint8_t*>(memory);
}

// Frees memory that Allocate gave for the same `size`.
void Free(std::uint8_t* buffer, std::size_t size) {
  if (size < kMinMapped) {
    std::free(buffer);
  } else {
    munmap(buffer, size);
  }
}

}  // namespace

BufferPool::~BufferPool() {
  base::MutexLock lock(&mutex_);
  for (std::size_t size_class = 0; size_class < kClasses; ++size_class)
    for (std::uint8_t* buffer : free_[size_class])
      Free(buffer, ClassSize(size_class, kMinShift));
}

std::shared_ptr<std::uint8_t> BufferPool::Take(std::size_t length) {
  if (length > SIZE_MAX - kFrontBytes) return nullptr;
  const std::size_t size_class = ClassOf(kFrontBytes + length, kMinShift);
  if (size_class >= kClasses) return nullptr;
  std::uint8_t* buffer = nullptr;
  {
    base::MutexLock lock(&mutex_);
    if (std::vector<std::uint8_t*>& buffers = free_[size_class];
        !buffers.empty()) {
      buffer = buffers.back();
      buffers.pop_back();
      spare_ -= ClassSize(size_class, kMinShift);
    }
  }
  if (buffer == nullptr) buffer = Allocate(ClassSize(size_class, kMinShift));
  if (buffer == nullptr) return nullptr;
  return std::shared_ptr<std::uint8_t>(
      buffer + kFrontBytes, [](std::uint8_t*) {},
      Front<std::uint8_t>(shared_from_this(), buffer, size_class));
}

std::size_t BufferPool::spare() const {
  base::MutexLock lock(&mutex_);
  return spare_;
}

void BufferPool::GiveBack(std::uint8_t* buffer, std::size_t size_class) {
  const std::size_t size = ClassSize(size_class, kMinShift);
  {
    base::MutexLock lock(&mutex_);
    if (spare_ + size <= spare_bytes_) {
      free_[size_class].push_back(buffer);
      spare_ += size;
      return;
    }
  }
  Free(buffer, size);
}

}  // namespace forebay::storage
