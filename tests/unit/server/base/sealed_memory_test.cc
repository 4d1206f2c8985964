#include "server/base/sealed_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <stop_token>
#include <thread>
#include <utility>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::base {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr off_t kPage = 4096;

Fd Sealed(off_t bytes, int seals) {
  Fd fd(memfd_create("sealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  CHECK(ftruncate(fd.get(), bytes) == 0);
  CHECK(fcntl(fd.get(), F_ADD_SEALS, seals) == 0);
  return fd;
}

TEST_CASE("Sealed memory holds its bytes in the budget",
          "[base][sealed_memory]") {
  MemoryBudget budget(10 * kPage);
  const Fd fd = Sealed(3 * kPage, F_SEAL_WRITE | F_SEAL_SHRINK);
  {
    const auto memory = SealedMemory::Map(fd, &budget, "a list");
    REQUIRE_THAT(memory, IsOk());
    CHECK((*memory)->bytes().size() == 3 * kPage);
    CHECK(budget.used() == 3 * kPage);
  }
  CHECK(budget.used() == 0);
  auto reserved = budget.Reserve(3 * kPage, "a list");
  REQUIRE_THAT(reserved, IsOk());
  const auto memory = SealedMemory::Map(fd, *std::move(reserved), "a list");
  REQUIRE_THAT(memory, IsOk());
  CHECK(budget.used() == 3 * kPage);
}

TEST_CASE("Sealed memory refuses what may change", "[base][sealed_memory]") {
  MemoryBudget budget(10 * kPage);
  for (const int seals : {0, F_SEAL_WRITE, F_SEAL_SHRINK, F_SEAL_GROW}) {
    const auto memory =
        SealedMemory::Map(Sealed(kPage, seals), &budget, "a list");
    CAPTURE(seals);
    CHECK_THAT(memory, HasCode(absl::StatusCode::kInvalidArgument));
  }
}

// Another process may extend the memory at any time. None of the mapped bytes
// change.
TEST_CASE("Sealed memory may grow while it is mapped",
          "[base][sealed_memory]") {
  constexpr int kTimes = 20'000;
  MemoryBudget budget(kPage * (kTimes + 1));
  const Fd fd = Sealed(kPage, F_SEAL_WRITE | F_SEAL_SHRINK);
  int refusals = 0;
  std::jthread grower([&](const std::stop_token& stop) {
    for (int i = 2; i <= kTimes && !stop.stop_requested(); ++i)
      refusals += ftruncate(fd.get(), i * kPage) != 0;
  });
  for (int i = 0; i < kTimes / 4; ++i) {
    const auto memory = SealedMemory::Map(fd, &budget, "a list");
    REQUIRE_THAT(memory, IsOk());
    CHECK((*memory)->bytes().size() == budget.used());
  }
  grower.request_stop();
  grower.join();
  CHECK(refusals == 0);
}

}  // namespace
}  // namespace forebay::base
