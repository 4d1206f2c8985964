#include "server/base/sealed_memory.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include <cerrno>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"

namespace forebay::base {
namespace {

// Checks that `fd` is a memfd that is sealed against writing and shrinking.
// Returns its size in bytes.
absl::StatusOr<std::uint64_t> SizeOf(const Fd& fd, const std::string& name) {
  constexpr int kNeeded = F_SEAL_WRITE | F_SEAL_SHRINK;
  const int seals = fcntl(fd.get(), F_GET_SEALS);
  struct stat status;
  struct statfs system;
  // Only a tmpfs file is accepted. A memfd of hugetlbfs has seals too, but an
  // access to it can fault if the host runs out of huge pages.
  if (seals < 0 || fstat(fd.get(), &status) != 0 ||
      fstatfs(fd.get(), &system) != 0 || system.f_type != TMPFS_MAGIC) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": its descriptor is of no shared memory"));
  }
  if ((seals & kNeeded) != kNeeded) {
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": its memory is not sealed against writing and shrinking"));
  }
  return static_cast<std::uint64_t>(status.st_size);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const SealedMemory>> SealedMemory::Map(
    const Fd& fd, MemoryBudget* budget, std::string_view what) {
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t size,
                           SizeOf(fd, std::string(what)));
  FOREBAY_ASSIGN_OR_RETURN(MemoryReservation reservation,
                           budget->Reserve(size, what));
  // The memfd may have grown since SizeOf: it need not be sealed against
  // growing. Only the `size` bytes that are reserved are mapped.
  return MapBytes(fd, size, std::move(reservation), what);
}

absl::StatusOr<std::shared_ptr<const SealedMemory>> SealedMemory::Map(
    const Fd& fd, MemoryReservation reservation, std::string_view what) {
  FOREBAY_ASSIGN_OR_RETURN(const std::uint64_t size,
                           SizeOf(fd, std::string(what)));
  FOREBAY_CHECK(size <= reservation.bytes());
  return MapBytes(fd, size, std::move(reservation), what);
}

absl::StatusOr<std::shared_ptr<const SealedMemory>> SealedMemory::MapBytes(
    const Fd& fd, std::uint64_t size, MemoryReservation reservation,
    std::string_view what) {
  void* data = nullptr;
  if (size > 0) {
    // Some kernels refuse a shared mapping of memory sealed against writing
    // (before Linux 6.7, even for reading). A private mapping is the same to
    // readers: pages are copied on writes only.
    data = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd.get(), 0);
    if (data == MAP_FAILED)
      return ErrnoStatus(errno, "mapping " + std::string(what));
  }
  return std::shared_ptr<const SealedMemory>(new SealedMemory(
      {static_cast<const std::uint8_t*>(data), size}, std::move(reservation)));
}

SealedMemory::~SealedMemory() {
  if (bytes_.empty()) return;
  munmap(const_cast<std::uint8_t*>(bytes_.data()), bytes_.size());
}

}  // namespace forebay::base
