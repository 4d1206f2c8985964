#include "server/survey/value_sizes.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "server/survey/value_sizes_file.h"
#include "tests/unit/server/base/ample_budget.h"

namespace forebay::survey {
namespace {

constexpr dataset::Version kSamples = {1, 2, 3};

absl::Span<const std::uint8_t> AsBytes(const std::string& text) {
  return {reinterpret_cast<const std::uint8_t*>(text.data()), text.size()};
}

std::shared_ptr<const ValueSizes> Made(const std::vector<ValueSize>& all) {
  ValueSizesBuilder builder(all.size(), {});
  for (std::uint64_t i = all.size(); i-- > 0;)
    EXPECT_TRUE(builder.Set(i, all[i]).ok());
  auto made = ValueSizes::Create(builder.Take());
  EXPECT_TRUE(made.ok()) << made.status();
  return *made;
}

absl::StatusOr<std::shared_ptr<const ValueSizes>> Decoded(
    const std::string& bytes, std::uint64_t count,
    const dataset::Version& samples = kSamples) {
  base::WorkingMemory memory(base::AmpleBudget(), "a test");
  dataset::IndexFileReader file(AsBytes(bytes));
  return DecodeValueSizes(file, samples, count, memory);
}

TEST(ValueSizesTest, AreAsTheyWereSet) {
  std::mt19937_64 random(3);
  std::vector<ValueSize> all = {{.size = 0}, {.size = ValueSizes::kMostSize}};
  for (int i = 0; i < 1000; ++i) {
    all.push_back({.size = random() >> (20 + random() % 40),
                   .rate = static_cast<std::uint32_t>(random() % 50 * 1000)});
  }
  const auto sizes = Made(all);
  const auto kept = Decoded(EncodeValueSizes(*sizes, kSamples), all.size());
  ASSERT_TRUE(kept.ok()) << kept.status();
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(sizes->Of(i), all[i]);
    EXPECT_EQ((*kept)->Of(i), all[i]);
  }
}

TEST(ValueSizesTest, TheRestIsRefused) {
  ValueSizesBuilder builder(1, {});
  EXPECT_TRUE(absl::IsInvalidArgument(
      builder.Set(0, {.size = ValueSizes::kMostSize + 1})));
  absl::Status status;
  for (std::uint32_t rate = 1; rate < 5000 && status.ok(); ++rate)
    status = builder.Set(0, {.size = 1, .rate = rate});
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
  EXPECT_TRUE(builder.Set(0, {.size = 1, .rate = 7}).ok());
}

TEST(ValueSizesTest, AFileIsOfItsSamples) {
  const std::string file = EncodeValueSizes(*Made({{.size = 5}}), kSamples);
  EXPECT_TRUE(Decoded(file, 1).ok());
  EXPECT_TRUE(absl::IsNotFound(Decoded(file, 2).status()));
  EXPECT_TRUE(absl::IsNotFound(Decoded(file, 1, {9}).status()));
}

TEST(ValueSizesTest, DamageIsFound) {
  const std::string file =
      EncodeValueSizes(*Made({{.size = 5}, {.size = 6, .rate = 7}}), kSamples);
  for (std::size_t i = 0; i < file.size(); ++i) {
    std::string changed = file;
    changed[i] ^= 4;
    EXPECT_FALSE(Decoded(changed, 2).ok()) << i;
    EXPECT_FALSE(Decoded(file.substr(0, i), 2).ok()) << i;
  }
  ValueSizesParts parts;
  parts.items = {std::uint64_t{1} << 44};
  parts.rates = {0};
  EXPECT_TRUE(absl::IsDataLoss(ValueSizes::Create(std::move(parts)).status()));
}

}  // namespace
}  // namespace forebay::survey
