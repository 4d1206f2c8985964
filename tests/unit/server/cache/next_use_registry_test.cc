#include "server/cache/next_use_registry.h"

#include <algorithm>
#include <optional>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::cache {
namespace {

using tests::ElementsAre;
using tests::IsEmpty;

// A loader that wants no odd samples. It wants even sample n in `after` + n
// nanoseconds.
class Even final : public LoaderNextUse {
 public:
  explicit Even(std::int64_t after) : after_(after) {}
  void Lower(std::int64_t now_nanos, absl::Span<const std::uint64_t> samples,
             absl::Span<std::int64_t> nanos) const override {
    CHECK(now_nanos == 7);
    for (std::size_t i = 0; i < samples.size(); ++i) {
      if (samples[i] % 2 != 0) continue;
      nanos[i] =
          std::min(nanos[i], static_cast<std::int64_t>(samples[i]) + after_);
    }
  }

 private:
  const std::int64_t after_;
};

std::vector<std::int64_t> Ask(const NextUseRegistry& next_use_registry,
                              const std::vector<storage::SampleRef>& samples) {
  std::vector<std::int64_t> nanos(samples.size(), 12345);
  next_use_registry.Ask(7, samples, absl::MakeSpan(nanos));
  return nanos;
}

TEST_CASE("The next-use registry counts the first loader that wants a sample",
          "[cache][next_use_registry]") {
  NextUseRegistry next_use_registry;
  const NextUseRegistry::Registration a(&next_use_registry, 1,
                                        std::make_shared<Even>(100));
  const NextUseRegistry::Registration b(&next_use_registry, 1,
                                        std::make_shared<Even>(50));
  const NextUseRegistry::Registration c(&next_use_registry, 2,
                                        std::make_shared<Even>(10));
  CHECK_THAT(Ask(next_use_registry, {{1, 2}, {2, 4}, {1, 3}, {1, 6}, {2, 2}}),
             ElementsAre(52, 14, kNever, 56, 12));
}

TEST_CASE("The next-use registry tells unknown samples from unwanted ones",
          "[cache][next_use_registry]") {
  NextUseRegistry next_use_registry;
  const NextUseRegistry::Registration a(&next_use_registry, 1,
                                        std::make_shared<Even>(0));
  CHECK_THAT(Ask(next_use_registry, {{0, 2}, {9, 2}, {1, 2}}),
             ElementsAre(kUnknown, kNever, 2));
  CHECK_THAT(Ask(next_use_registry, {}), IsEmpty());
}

TEST_CASE("Registration in the next-use registry is optional",
          "[cache][next_use_registry]") {
  NextUseRegistry next_use_registry;
  const NextUseRegistry::Registration a(nullptr, 1, std::make_shared<Even>(0));
  const NextUseRegistry::Registration b(&next_use_registry, 0,
                                        std::make_shared<Even>(0));
  CHECK_THAT(Ask(next_use_registry, {{0, 2}}), ElementsAre(kUnknown));
}

TEST_CASE("A loader that left the next-use registry wants nothing",
          "[cache][next_use_registry]") {
  NextUseRegistry next_use_registry;
  std::optional<NextUseRegistry::Registration> a(
      std::in_place, &next_use_registry, 1, std::make_shared<Even>(100));
  std::optional<NextUseRegistry::Registration> b(
      std::in_place, &next_use_registry, 1, std::make_shared<Even>(50));
  b.reset();
  CHECK_THAT(Ask(next_use_registry, {{1, 2}}), ElementsAre(102));
  a.reset();
  CHECK_THAT(Ask(next_use_registry, {{1, 2}}), ElementsAre(kNever));
}

}  // namespace
}  // namespace forebay::cache
