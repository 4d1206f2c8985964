#include "client/shm/rings.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <utility>

#include "client/base/deadline.h"

namespace forebay::client::shm {
namespace {

Status MapRing(int fd, int protection, void** out) {
  struct stat status;
  if (fstat(fd, &status) != 0 ||
      status.st_size < static_cast<off_t>(proto::kRingBytes))
    return Status(FOREBAY_INTERNAL, "the daemon sent a ring that is too small");
  void* const memory =
      mmap(nullptr, proto::kRingBytes, protection, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED) return ErrnoStatus(errno, "cannot map a ring");
  *out = memory;
  return Status();
}

}  // namespace

Status Rings::Map(proto::Fd ready, proto::Fd release, proto::Fd event) {
  void* memory = nullptr;
  FOREBAY_CLIENT_RETURN_IF_ERROR(MapRing(ready.get(), PROT_READ, &memory));
  ready_ = static_cast<const proto::ReadyRing*>(memory);
  if (ready_->magic != proto::kRingMagic ||
      ready_->version != proto::kLayoutVersion)
    return Status(FOREBAY_INTERNAL, "the daemon sent a ring of another kind");
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      MapRing(release.get(), PROT_READ | PROT_WRITE, &memory));
  release_ = static_cast<proto::ReleaseRing*>(memory);
  event_ = std::move(event);
  return Status();
}

void Rings::Unmap() {
  if (ready_ != nullptr)
    munmap(const_cast<proto::ReadyRing*>(std::exchange(ready_, nullptr)),
           proto::kRingBytes);
  if (release_ != nullptr)
    munmap(std::exchange(release_, nullptr), proto::kRingBytes);
  event_.Close();
}

bool Rings::HasEntry() const {
  return ready_->tail.load(std::memory_order_acquire) != head_;
}

WaitResult Rings::Wait(std::int64_t nanos) {
  if (HasEntry()) return WaitResult::kReady;
  const std::int64_t start = NowNanos();
  release_->waiting.store(1, std::memory_order_seq_cst);
  // An idle daemon may not know that all entries have been taken. This thread
  // writes `waiting` before Notify reads `looking`. The daemon writes `looking`
  // before it reads `waiting`. The order is sequentially consistent, so at
  // least one side sees the other's write.
  Notify();
  const int error = proto::FutexWait(&ready_->tail, head_, nanos);
  release_->waiting.store(0, std::memory_order_relaxed);
  // At most `nanos` are added, because the process may have been stopped
  // meanwhile.
  release_->wait_nanos.fetch_add(std::min(NowNanos() - start, nanos),
                                 std::memory_order_relaxed);
  if (HasEntry()) return WaitResult::kReady;
  return error == EINTR ? WaitResult::kInterrupted : WaitResult::kTimeout;
}

proto::ReadyEntry Rings::Take() {
  const proto::ReadyEntry entry =
      ready_->entries[head_ % proto::kReadyCapacity];
  ++head_;
  release_->taken_count.store(head_, std::memory_order_relaxed);
  return entry;
}

Status Rings::ReadError() const {
  forebay_status code = FromDaemonCode(ready_->error_code);
  if (code == FOREBAY_OK) code = FOREBAY_INTERNAL;
  return Status(code,
                std::string(ready_->error_text,
                            strnlen(ready_->error_text, proto::kMaxErrorText)));
}

void Rings::Leave() {
  release_->left.store(1, std::memory_order_seq_cst);
  Notify();
}

void Rings::Notify() {
  if (ready_->looking.load(std::memory_order_seq_cst) != 0) return;
  const std::uint64_t one = 1;
  // The write fails only if the counter is full (eventfd(2)). The daemon is
  // then notified already.
  [[maybe_unused]] const ssize_t written =
      write(event_.get(), &one, sizeof one);
}

}  // namespace forebay::client::shm
