#include "server/dataset/composed/composed_keys.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "server/base/fd.h"
#include "server/base/status.h"
#include "server/base/working_memory.h"
#include "server/dataset/records/key_search.h"
#include "server/dataset/records/record_dataset.h"

namespace forebay::dataset::composed {
namespace {

static_assert(std::endian::native == std::endian::little,
              "the lengths of a list are little-endian");

constexpr char kWhat[] = "the list of a subset's keys";

// Parses a list of `count` keys. The returned keys point into `bytes`.
absl::StatusOr<std::vector<std::string_view>> ReadKeys(
    absl::Span<const std::uint8_t> bytes, std::uint64_t count,
    base::WorkingMemory& memory) {
  using Length = std::uint32_t;
  const absl::Status no_list = absl::InvalidArgumentError(absl::StrCat(
      kWhat, ": ", bytes.size(), " bytes are not a list of ", count, " keys"));
  if (count > bytes.size() / sizeof(Length)) return no_list;
  std::vector<std::string_view> keys;
  FOREBAY_RETURN_IF_ERROR(memory.MakeRoom(keys, count));
  absl::Span<const std::uint8_t> rest = bytes.subspan(count * sizeof(Length));
  for (std::uint64_t i = 0; i < count; ++i) {
    Length length;
    std::memcpy(&length, bytes.data() + i * sizeof(length), sizeof(length));
    if (length > rest.size()) return no_list;
    keys.emplace_back(reinterpret_cast<const char*>(rest.data()), length);
    rest.remove_prefix(length);
  }
  if (!rest.empty()) return no_list;
  return keys;
}

// Copies the numbers into sealed memory, the form in which clients send lists.
absl::StatusOr<std::shared_ptr<const base::SealedMemory>> Seal(
    absl::Span<const std::uint64_t> numbers, base::WorkingMemory& memory) {
  const std::string name(kWhat);
  std::uint64_t left = numbers.size() * sizeof(numbers[0]);
  FOREBAY_ASSIGN_OR_RETURN(base::MemoryReservation reservation,
                           memory.Keep(left));
  base::Fd fd(memfd_create("forebay-list", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return base::ErrnoStatus(errno, "making " + name);
  const auto* from = reinterpret_cast<const std::uint8_t*>(numbers.data());
  while (left > 0) {
    const ssize_t written = write(fd.get(), from, left);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return base::ErrnoStatus(errno, "filling " + name);
    from += written;
    left -= static_cast<std::uint64_t>(written);
  }
  if (fcntl(fd.get(), F_ADD_SEALS,
            F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    return base::ErrnoStatus(errno, "sealing " + name);
  return base::SealedMemory::Map(fd, std::move(reservation), kWhat);
}

}  // namespace

absl::StatusOr<std::shared_ptr<const base::SealedMemory>> NumbersOfKeys(
    const Dataset& whole, const base::SealedMemory& list, std::uint64_t count,
    base::MemoryBudget* budget) {
  base::WorkingMemory memory(budget, kWhat);
  FOREBAY_ASSIGN_OR_RETURN(const std::vector<std::string_view> keys,
                           ReadKeys(list.bytes(), count, memory));
  const auto* const records =
      dynamic_cast<const records::RecordDataset*>(&whole);
  // Only datasets of records have keys. An empty dataset of records is
  // accepted, too: its has_keys() is always false.
  if (records == nullptr ||
      (!records->records().has_keys() && records->records().size() != 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat(whole.uri(), ": its samples have no keys"));
  }
  const auto numbers = records::FindKeys(records->records(), keys, memory);
  if (!numbers.ok()) return base::Annotate(numbers.status(), whole.uri());
  return Seal(*numbers, memory);
}

}  // namespace forebay::dataset::composed
