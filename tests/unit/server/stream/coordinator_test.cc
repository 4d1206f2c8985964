#include "server/stream/coordinator.h"

#include <cstdint>
#include <memory>
#include <set>
#include <vector>

#include "server/base/memory_budget.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/sealed_numbers.h"

namespace forebay::stream {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr std::uint64_t kSize = 100;
constexpr std::uint64_t kFormBytes = 1000;
constexpr std::uint64_t kRoom = kSize * kFormBytes;
constexpr std::uint64_t kSeed = 7;

class CoordinatorTest {
 protected:
  std::shared_ptr<const base::IndexList> List(
      const std::vector<std::uint64_t>& numbers) {
    return base::MakeList(numbers, kSize, &budget_);
  }

  std::shared_ptr<Coordinator::OrderMember> Join() const {
    return coordinator_->Join({});
  }

  base::MemoryBudget budget_{1 << 20};
  const std::shared_ptr<Coordinator> coordinator_ =
      std::make_shared<Coordinator>(kSize, kRoom, kSeed, &budget_);
};

TEST_CASE_METHOD(
    CoordinatorTest,
    "No budget has the bytes that a coordinator needs for very many samples",
    "[stream][coordinator]") {
  CHECK(Coordinator::BytesOfMember(1000) < 20000u);
  // At 17 / 2 bytes each, the bytes of so many samples overflow 64 bits.
  CHECK(Coordinator::BytesOfMember(2170205185142300188) == UINT64_MAX);
}

TEST_CASE_METHOD(CoordinatorTest,
                 "A coordinator lets members take next what another has made",
                 "[stream][coordinator]") {
  const auto first = Join();
  const auto second = Join();
  std::set<std::uint64_t> made;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t sample = first->At(i);
    CHECK(first->At(i) == sample);  // a second call changes nothing
    CHECK(first->PositionOf(sample) == i);
    CHECK(first->IsAwaited(sample));
    first->Kept(sample, kFormBytes);
    made.insert(sample);
  }
  CHECK(made.size() == 10);
  // The second member wants these samples soon, and all others by the end of
  // the epoch.
  CHECK(second->PositionOf(*made.begin()) == 11);
  std::uint64_t other = 0;
  while (made.contains(other)) ++other;
  CHECK(second->PositionOf(other) == kSize);
  // The second member has at least as many samples left as the first. It may
  // therefore also draw samples that nobody has decoded.
  int taken = 0;
  for (std::uint64_t i = 0; i < 10; ++i) {
    const std::uint64_t sample = second->At(i);
    if (!made.contains(sample)) continue;
    ++taken;
    CHECK_FALSE(second->IsAwaited(sample));
    second->Found(sample);
  }
  CHECK(taken >= 5);
}

TEST_CASE_METHOD(CoordinatorTest,
                 "A variant that a member missed is cheap no longer",
                 "[stream][coordinator]") {
  const auto first = Join();
  const auto second = Join();
  const std::uint64_t sample = first->At(0);
  first->Kept(sample, kFormBytes);
  CHECK(second->PositionOf(sample) == 2);
  first->Missed(sample);
  CHECK(second->PositionOf(sample) == kSize);
}

TEST_CASE_METHOD(
    CoordinatorTest,
    "A coordinator knows of no more variants than there is memory for",
    "[stream][coordinator]") {
  const auto first = Join();
  const auto second = Join();
  {
    const auto others = budget_.Reserve(budget_.limit(), "others");
    const std::uint64_t sample = first->At(0);
    CHECK(first->Kept(sample, kFormBytes) == std::vector{sample});
    CHECK(second->PositionOf(sample) == kSize);
  }
  const std::uint64_t sample = first->At(1);
  CHECK(first->Kept(sample, kFormBytes).empty());
  CHECK(second->PositionOf(sample) == 2);
  CHECK(budget_.used() > 0);
}

TEST_CASE_METHOD(
    CoordinatorTest,
    "A member that leaves a coordinator makes nothing any more for the others",
    "[stream][coordinator]") {
  auto first = Join();
  const auto second = Join();
  const std::uint64_t sample = first->At(0);
  // By then, the sample's variant will be cached.
  CHECK(second->PositionOf(sample) == 1);
  first.reset();
  CHECK(second->PositionOf(sample) == kSize);
  CHECK_FALSE(second->IsAwaited(sample));
}

TEST_CASE_METHOD(CoordinatorTest,
                 "An epoch in coordinated order goes on with what was not seen",
                 "[stream][coordinator]") {
  const auto order_member = Join();
  std::vector<std::uint64_t> seen;
  for (std::uint64_t i = 0; i < 90; ++i) seen.push_back(i);
  order_member->Start(90, *order_member->Check(90, List(seen).get()));
  std::set<std::uint64_t> rest;
  for (std::uint64_t i = 90; i < kSize; ++i) rest.insert(order_member->At(i));
  CHECK(rest.size() == 10);
  CHECK(*rest.begin() >= 90);
}

TEST_CASE_METHOD(
    CoordinatorTest,
    "Samples seen in coordinated order must be as many as are said",
    "[stream][coordinator]") {
  const auto order_member = Join();
  for (const auto& seen : {order_member->Check(1, nullptr),
                           order_member->Check(0, List({3}).get()),
                           order_member->Check(2, List({3, 3}).get())}) {
    CHECK_THAT(seen, HasCode(absl::StatusCode::kInvalidArgument));
  }
  CHECK_THAT(order_member->Check(1, List({3}).get()), IsOk());
}

}  // namespace
}  // namespace forebay::stream
