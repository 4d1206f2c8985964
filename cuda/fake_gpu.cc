#include "cuda/fake_gpu.h"

#include <sys/mman.h>

#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "proto/fd.h"

namespace forebay::cuda {

// Memory of the fake GPU: a memfd, which other processes can map.
class FakeGpu::Memory final : public GpuMemory {
 public:
  Memory(FakeGpu& gpu, proto::Fd fd, std::uint8_t* data, std::uint64_t bytes)
      : gpu_(gpu), fd_(std::move(fd)), data_(data), bytes_(bytes) {}
  ~Memory() override {
    munmap(data_, bytes_);
    const std::lock_guard lock(gpu_.mutex_);
    gpu_.allocated_ -= bytes_;
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  int fd() const override { return fd_.get(); }
  std::uint64_t bytes() const override { return bytes_; }

  // Returns the address of a range; null if the range does not lie in this
  // memory.
  std::uint8_t* At(std::uint64_t offset, std::uint64_t bytes) const {
    const bool inside = offset <= bytes_ && bytes <= bytes_ - offset;
    return inside ? data_ + offset : nullptr;
  }

 private:
  FakeGpu& gpu_;
  const proto::Fd fd_;
  std::uint8_t* const data_;
  const std::uint64_t bytes_;
};

void FakeGpu::Fail(absl::Status error) {
  const std::lock_guard lock(mutex_);
  error_ = std::move(error);
}

std::uint64_t FakeGpu::allocated() const {
  const std::lock_guard lock(mutex_);
  return allocated_;
}

void FakeGpu::InAllocate(std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  in_allocate_ = std::move(call);
}

absl::StatusOr<std::unique_ptr<GpuMemory>> FakeGpu::Allocate(
    std::uint64_t bytes) {
  std::function<void()> call;
  {
    const std::lock_guard lock(mutex_);
    call = std::exchange(in_allocate_, nullptr);
  }
  if (call) call();
  const std::lock_guard lock(mutex_);
  if (!error_.ok()) return error_;
  if (bytes > capacity_ - allocated_)
    return absl::ResourceExhaustedError("the GPU's memory is spent");
  const std::uint64_t rounded =
      (bytes + kGranularity - 1) / kGranularity * kGranularity;
  proto::Fd fd(memfd_create("fake-gpu", MFD_CLOEXEC));
  if (!fd || ftruncate(fd.get(), static_cast<off_t>(rounded)) != 0)
    return absl::InternalError("the host's memory is spent");
  void* const data =
      mmap(nullptr, rounded, PROT_READ | PROT_WRITE, MAP_SHARED, fd.get(), 0);
  if (data == MAP_FAILED)
    return absl::InternalError("the host's memory is spent");
  allocated_ += rounded;
  return std::make_unique<Memory>(*this, std::move(fd),
                                  static_cast<std::uint8_t*>(data), rounded);
}

absl::Status FakeGpu::Register(void* data, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!error_.ok()) return error_;
  if (bytes == 0 || !registered_.insert(data).second)
    return absl::InternalError("the memory is pinned already");
  return absl::OkStatus();
}

absl::Status FakeGpu::Unregister(void* data) {
  const std::lock_guard lock(mutex_);
  if (!error_.ok()) return error_;
  return registered_.erase(data) == 1
             ? absl::OkStatus()
             : absl::InternalError("the memory is not pinned");
}

absl::StatusOr<std::uint64_t> FakeGpu::StartCopy(const GpuMemory& to,
                                                 std::uint64_t offset,
                                                 const void* from,
                                                 std::uint64_t bytes) {
  std::uint8_t* const target = static_cast<const Memory&>(to).At(offset, bytes);
  if (target == nullptr)
    return absl::InvalidArgumentError("a copy beyond the memory");
  const std::lock_guard lock(mutex_);
  if (!error_.ok()) return error_;
  queued_.push_back({.to = target, .from = from, .bytes = bytes});
  return done_ + queued_.size();
}

void FakeGpu::FinishLocked(std::uint64_t copy) {
  for (; done_ < copy; ++done_) {
    const Copy& next = queued_.front();
    std::memcpy(next.to, next.from, next.bytes);
    queued_.pop_front();
  }
}

absl::Status FakeGpu::Wait(std::uint64_t copy) {
  const std::lock_guard lock(mutex_);
  if (!error_.ok()) return error_;
  if (copy > done_ + queued_.size())
    return absl::InternalError(absl::StrCat("there is no copy ", copy));
  FinishLocked(copy);
  return absl::OkStatus();
}

absl::Status FakeGpu::Read(const GpuMemory& from, std::uint64_t offset,
                           void* to, std::uint64_t bytes) {
  const std::uint8_t* const source =
      static_cast<const Memory&>(from).At(offset, bytes);
  if (source == nullptr)
    return absl::InvalidArgumentError("a copy beyond the memory");
  const std::lock_guard lock(mutex_);
  if (!error_.ok()) return error_;
  FinishLocked(done_ + queued_.size());
  std::memcpy(to, source, bytes);
  return absl::OkStatus();
}

}  // namespace forebay::cuda
