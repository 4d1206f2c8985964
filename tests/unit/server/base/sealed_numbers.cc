#include "tests/unit/server/base/sealed_numbers.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <utility>

#include "server/base/check.h"
#include "server/base/sealed_memory.h"

namespace forebay::base {

Fd Memfd(const void* data, std::size_t bytes, int seals) {
  Fd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  FOREBAY_CHECK(fd &&
                write(fd.get(), data, bytes) == static_cast<ssize_t>(bytes));
  if (seals == kAllSeals) {
    seals = F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
  }
  FOREBAY_CHECK(fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  return fd;
}

Fd SealedNumbers(const std::vector<std::uint64_t>& numbers) {
  return Memfd(numbers.data(), numbers.size() * sizeof(numbers[0]));
}

std::shared_ptr<const IndexList> MakeList(
    const std::vector<std::uint64_t>& numbers, std::uint64_t bound,
    MemoryBudget* budget) {
  auto memory = SealedMemory::Map(SealedNumbers(numbers), budget, "a list");
  FOREBAY_CHECK(memory.ok());
  auto list = IndexList::Create(*std::move(memory), bound, budget, "a list");
  FOREBAY_CHECK(list.ok());
  return *std::move(list);
}

}  // namespace forebay::base
