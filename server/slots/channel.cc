#include "server/slots/channel.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

#include "server/base/status.h"

namespace forebay::slots {

absl::StatusOr<std::unique_ptr<Channel>> Channel::Create() {
  FOREBAY_ASSIGN_OR_RETURN(
      auto ready, SharedMemory::Create("forebay-ready", proto::kRingBytes,
                                       ClientAccess::kRead));
  FOREBAY_ASSIGN_OR_RETURN(
      auto release, SharedMemory::Create("forebay-release", proto::kRingBytes,
                                         ClientAccess::kReadWrite));
  base::Fd event(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!event) return base::ErrnoStatus(errno, "creating an eventfd");
  auto* ring = new (ready.data()) proto::ReadyRing();
  // The two constructions set every counter of the rings to 0.
  ring->magic = proto::kRingMagic;
  ring->version = proto::kLayoutVersion;
  new (release.data()) proto::ReleaseRing();
  return std::unique_ptr<Channel>(
      new Channel(std::move(ready), std::move(release), std::move(event)));
}

void Channel::PublishError(const absl::Status& error, std::uint64_t epoch) {
  proto::ReadyRing* ring = ready();
  ring->error_code = static_cast<std::uint32_t>(error.code());
  const std::size_t length =
      std::min<std::size_t>(error.message().size(), proto::kMaxErrorText - 1);
  std::memcpy(ring->error_text, error.message().data(), length);
  ring->error_text[length] = '\0';
  ring->Publish({.kind = proto::ReadyKind::kError,
                 .slot = 0,
                 .generation = 0,
                 .reserved = 0,
                 .sample_count = 0,
                 .epoch = epoch});
}

void Channel::RaiseEvent() {
  const std::uint64_t one = 1;
  // The write fails only if the eventfd's counter is full, and then the
  // descriptor is readable already.
  [[maybe_unused]] const ssize_t n = write(event_.get(), &one, sizeof(one));
}

void Channel::ClearEvent() {
  std::uint64_t count;
  // The read fails if nobody has written since; there is nothing to reset then.
  [[maybe_unused]] const ssize_t n = read(event_.get(), &count, sizeof(count));
}

std::optional<proto::Release> Channel::TakeRelease() {
  proto::Release release;
  if (corrupt_ || !releases()->Take(head_, &release, &corrupt_)) {
    return std::nullopt;
  }
  ++head_;
  return release;
}

ClientReport Channel::client_report() const {
  const proto::ReleaseRing* ring = releases();
  return {
      // `left` is read first. A client writes its other counters before it says
      // that it left or waits. The counters that are read after `left` are
      // therefore at least as new.
      .left = ring->left.load(std::memory_order_seq_cst) != 0,
      .waiting = ring->waiting.load(std::memory_order_seq_cst) != 0,
      .taken_count = ring->taken_count.load(std::memory_order_relaxed),
      .wait_nanos = ring->wait_nanos.load(std::memory_order_relaxed),
      .batches_copied = ring->batches_copied.load(std::memory_order_relaxed)};
}

}  // namespace forebay::slots
