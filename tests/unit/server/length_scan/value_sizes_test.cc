#include "server/length_scan/value_sizes.h"

#include <random>
#include <string>
#include <vector>

#include "server/length_scan/value_sizes_file.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::length_scan {
namespace {

using tests::HasCode;
using tests::IsOk;

constexpr dataset::Version kSamples = {1, 2, 3};

absl::Span<const std::uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::shared_ptr<const ValueSizes> Made(const std::vector<ValueSize>& all) {
  ValueSizesBuilder builder(all.size(), {});
  for (std::uint64_t i = all.size(); i-- > 0;)
    CHECK_THAT(builder.Set(i, all[i]), IsOk());
  auto made = ValueSizes::Create(builder.Take());
  CHECK_THAT(made, IsOk());
  return *made;
}

absl::StatusOr<std::shared_ptr<const ValueSizes>> Decoded(
    const std::string& bytes, std::uint64_t count,
    const dataset::Version& samples = kSamples) {
  base::WorkingMemory memory(base::AmpleBudget(), "a test");
  dataset::IndexFileReader file(AsBytes(bytes));
  return DecodeValueSizes(file, samples, count, memory);
}

TEST_CASE("Value sizes are as they were set", "[length_scan][value_sizes]") {
  std::mt19937_64 random(3);
  std::vector<ValueSize> all = {{.size = 0}, {.size = ValueSizes::kMostSize}};
  for (int i = 0; i < 1000; ++i) {
    all.push_back({.size = random() >> (20 + random() % 40),
                   .rate = static_cast<std::uint32_t>(random() % 50 * 1000)});
  }
  const auto sizes = Made(all);
  const auto kept = Decoded(EncodeValueSizes(*sizes, kSamples), all.size());
  REQUIRE_THAT(kept, IsOk());
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    CHECK(sizes->Of(i) == all[i]);
    CHECK((*kept)->Of(i) == all[i]);
  }
}

TEST_CASE("Value sizes beyond the limits of size and of rates are refused",
          "[length_scan][value_sizes]") {
  ValueSizesBuilder builder(1, {});
  CHECK_THAT(builder.Set(0, {.size = ValueSizes::kMostSize + 1}),
             HasCode(absl::StatusCode::kInvalidArgument));
  absl::Status status;
  for (std::uint32_t rate = 1; rate < 5000 && status.ok(); ++rate)
    status = builder.Set(0, {.size = 1, .rate = rate});
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(builder.Set(0, {.size = 1, .rate = 7}), IsOk());
}

TEST_CASE("A file of value sizes is of its own samples only",
          "[length_scan][value_sizes]") {
  const std::string file = EncodeValueSizes(*Made({{.size = 5}}), kSamples);
  CHECK_THAT(Decoded(file, 1), IsOk());
  CHECK_THAT(Decoded(file, 2), HasCode(absl::StatusCode::kNotFound));
  CHECK_THAT(Decoded(file, 1, {9}), HasCode(absl::StatusCode::kNotFound));
}

TEST_CASE("Damage to a file of value sizes is found",
          "[length_scan][value_sizes]") {
  const std::string file =
      EncodeValueSizes(*Made({{.size = 5}, {.size = 6, .rate = 7}}), kSamples);
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] ^= 4;
    CAPTURE(i);
    CHECK_FALSE(Decoded(changed, 2).ok());
    CHECK_FALSE(Decoded(file.substr(0, i), 2).ok());
  }
  ValueSizesParts parts;
  parts.items = {std::uint64_t{1} << 44};
  parts.rates = {0};
  CHECK_THAT(ValueSizes::Create(std::move(parts)),
             HasCode(absl::StatusCode::kDataLoss));
}

}  // namespace
}  // namespace forebay::length_scan
