#include "server/storage/local/ring.h"

#include <errno.h>

#include <algorithm>
#include <limits>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::storage::local {
namespace {

// The setups to try, from the newest kernels' to the oldest's. DEFER_TASKRUN
// (Linux 6.1) and COOP_TASKRUN (Linux 5.19) avoid interrupts of the thread,
// which waits anyway. A ring starts disabled: with SINGLE_ISSUER it belongs to
// the thread that enables it.
constexpr unsigned kSetups[] = {
    IORING_SETUP_R_DISABLED | IORING_SETUP_SINGLE_ISSUER |
        IORING_SETUP_DEFER_TASKRUN,
    IORING_SETUP_R_DISABLED | IORING_SETUP_COOP_TASKRUN,
    IORING_SETUP_R_DISABLED,
};

// An operation that the kernel must have, and its name for messages.
struct Operation {
  int code;
  const char* name;
};
constexpr Operation kOperations[] = {
    {IORING_OP_OPENAT2, "OPENAT2"},
    {IORING_OP_READ, "READ"},
    {IORING_OP_READ_FIXED, "READ_FIXED"},
};

// The most bytes that one operation reads: its result counts bytes in an int.
constexpr std::size_t kMaxLength = std::size_t{1} << 30;
// The least memory, in bytes, that is worth a registration.
constexpr std::size_t kMinRegistered = 64 << 10;

// Returns the error of a ring that the kernel refuses with this errno.
absl::Status Refused(int error_number) {
  switch (error_number) {
    case ENOSYS:
      return absl::UnavailableError(
          "the kernel has no io_uring, or a seccomp filter hides it");
    case EPERM:
      return absl::UnavailableError(
          "io_uring is forbidden here, by a container's seccomp filter or the "
          "sysctl kernel.io_uring_disabled");
    case ENOMEM:
      return absl::UnavailableError(
          "io_uring gets no memory: RLIMIT_MEMLOCK is too low, or memory is "
          "spent");
    default:
      return absl::UnavailableError(
          absl::StrCat("io_uring does not work here: ",
                       std::generic_category().message(error_number)));
  }
}

// Checks that the kernel's io_uring has all operations.
absl::Status CheckOperations(io_uring* ring) {
  const std::unique_ptr<io_uring_probe, void (*)(io_uring_probe*)> probe(
      io_uring_get_probe_ring(ring), &io_uring_free_probe);
  if (probe == nullptr)
    return absl::UnavailableError(
        "the kernel's io_uring does not say what it can do: it is older than "
        "5.6, or a seccomp filter forbids io_uring_register");
  for (const Operation& operation : kOperations)
    if (io_uring_opcode_supported(probe.get(), operation.code) == 0)
      return absl::UnavailableError(
          absl::StrCat("the kernel's io_uring has no ", operation.name));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<Ring>> Ring::Create(unsigned entries) {
  int error = EINVAL;
  for (const unsigned setup : kSetups) {
    io_uring ring = {};
    error = -io_uring_queue_init(entries, &ring, setup);
    if (error == EINVAL) continue;
    if (error != 0) break;
    std::unique_ptr<Ring> result(new Ring);
    result->ring_ = ring;
    FOREBAY_RETURN_IF_ERROR(CheckOperations(&result->ring_));
    return result;
  }
  return Refused(error);
}

absl::Status Ring::Probe() {
  FOREBAY_ASSIGN_OR_RETURN(const std::unique_ptr<Ring> ring, Create(1));
  FOREBAY_RETURN_IF_ERROR(ring->Enable());
  io_uring_prep_nop(ring->Next());
  const int submitted = io_uring_submit_and_wait(&ring->ring_, 1);
  if (submitted < 0 && submitted != -EINTR) return Refused(-submitted);
  return absl::OkStatus();
}

Ring::~Ring() { io_uring_queue_exit(&ring_); }

absl::Status Ring::Enable() {
  const int error = -io_uring_enable_rings(&ring_);
  if (error != 0) return Refused(error);
  // Registering spares the kernel a look-up of the descriptor at each call.
  // Older kernels cannot do so, and work without it.
  static_cast<void>(io_uring_register_ring_fd(&ring_));
  return absl::OkStatus();
}

void Ring::Open(std::uint64_t id, int directory, const char* path,
                const open_how* how) {
  io_uring_sqe* const entry = Next();
  io_uring_prep_openat2(entry, directory, path, const_cast<open_how*>(how));
  entry->user_data = id;
}

void Ring::Read(std::uint64_t id, File file, void* buffer, std::size_t length,
                std::uint64_t offset) {
  io_uring_sqe* const entry = Next();
  io_uring_prep_read(entry, file.number, buffer,
                     static_cast<unsigned>(std::min(length, kMaxLength)),
                     offset);
  Finish(entry, id, file);
}

void Ring::ReadFixed(std::uint64_t id, File file, void* buffer,
                     std::size_t length, std::uint64_t offset) {
  io_uring_sqe* const entry = Next();
  io_uring_prep_read_fixed(entry, file.number, buffer,
                           static_cast<unsigned>(std::min(length, kMaxLength)),
                           offset, /*buf_index=*/0);
  Finish(entry, id, file);
}

void Ring::Finish(io_uring_sqe* entry, std::uint64_t id, File file) {
  if (file.registered) entry->flags |= IOSQE_FIXED_FILE;
  entry->user_data = id;
}

std::size_t Ring::ReserveFiles(std::size_t count) {
  const auto most = static_cast<unsigned>(count);
  return io_uring_register_files_sparse(&ring_, most) == 0 ? count : 0;
}

bool Ring::RegisterFile(unsigned number, int file) {
  return io_uring_register_files_update(&ring_, number, &file, 1) == 1;
}

void Ring::UnregisterFile(unsigned number) {
  constexpr int kNone = -1;
  io_uring_register_files_update(&ring_, number, &kNone, 1);
}

std::size_t Ring::Register(absl::Span<std::uint8_t> memory) {
  // The size is halved until it fits: the kernel does not tell what the limit
  // leaves.
  for (std::size_t size = std::min(memory.size(), kMaxLength);
       size >= kMinRegistered; size /= 2) {
    const iovec part = {memory.data(), size};
    if (io_uring_register_buffers(&ring_, &part, 1) == 0) return size;
  }
  return 0;
}

void Ring::Submit(bool wait) {
  const int result = wait ? io_uring_submit_and_wait(&ring_, 1)
                          : io_uring_submit_and_get_events(&ring_);
  // Operations that the kernel did not take stay for the next call. The kernel
  // was interrupted, is short of memory, or wants its completions taken first.
  FOREBAY_CHECK(result >= 0 || result == -EINTR || result == -EAGAIN ||
                result == -EBUSY || result == -ETIME);
}

io_uring_sqe* Ring::Next() {
  io_uring_sqe* const entry = io_uring_get_sqe(&ring_);
  FOREBAY_CHECK(entry != nullptr);
  return entry;
}

}  // namespace forebay::storage::local
