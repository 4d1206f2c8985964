#include "server/pipeline/transform/value_table.h"

#include <hwy/targets.h>

#include <cstdint>
#include <cstring>
#include <vector>

#include "server/pipeline/transform/convert.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/pipeline/transform/golden.h"

namespace forebay::pipeline::transform {
namespace {

using proto::DType;

constexpr Normalize kImageNet{{0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}};
constexpr Normalize kPlain{{0.5, 0.5, 0.5}, {0.5, 0.5, 0.5}};
constexpr Normalize kBytes{{123.675, 116.28, 103.53}, {58.395, 57.12, 57.375}};
constexpr Convert kUnit{DType::kFloat32, true};

// Returns the chains in the order of values.bin.
std::vector<std::vector<ValueStep>> Chains() {
  const Convert half{DType::kFloat16, true};
  const Convert brain{DType::kBfloat16, true};
  return {{},
          {kUnit},
          {kUnit, kImageNet},
          {kUnit, kPlain},
          {Convert{DType::kFloat32, false}, kBytes},
          {kUnit, kImageNet, half},
          {kUnit, kImageNet, brain},
          {half},
          {brain},
          {half, kImageNet},
          {brain, kImageNet},
          {kUnit, Convert{DType::kUint8, true}}};
}

TEST_CASE("A value table equals torch's numbers to the bit",
          "[transform][value_table]") {
  GoldenReader golden("values.bin");
  int chain = 0;
  for (const auto& steps : Chains()) {
    const ValueTable table = MakeValueTable(steps);
    for (std::size_t color = 0; color < kColors; ++color) {
      for (std::size_t v = 0; v < 256; ++v) {
        UNSCOPED_INFO("chain " << chain << ", color " << color << ", value "
                               << v);
        CHECK(table.bits[color][v] == golden.Next<std::uint32_t>());
      }
    }
    ++chain;
  }
  CHECK(golden.done());
}

TEST_CASE("Value tables of usual chains of ops have a formula",
          "[transform][value_table]") {
  CHECK(MakeValueTable({kUnit}).has_formula);
  CHECK(MakeValueTable({kUnit, kImageNet}).has_formula);
  CHECK(MakeValueTable({kUnit, kPlain}).has_formula);
  CHECK_FALSE(MakeValueTable({kUnit, kPlain, kPlain}).has_formula);
  CHECK(MakeValueTable({}).identity);
}

TEST_CASE("Conversion writes the value table's bits on every CPU",
          "[transform][value_table]") {
  constexpr std::size_t kCount = 259;  // ends in the middle of a vector
  std::vector<std::uint8_t> pixels(kCount + kPlaneUnit);
  for (std::size_t i = 0; i < kCount; ++i)
    pixels[i] = static_cast<std::uint8_t>(i * 7);
  std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  targets.push_back(HWY_SCALAR);
  for (const std::int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    REQUIRE(std::string_view(VectorTarget()) == hwy::TargetName(target));
    for (const auto& steps : Chains()) {
      const ValueTable table = MakeValueTable(steps);
      const std::size_t size = proto::SizeOf(table.dtype);
      std::vector<std::uint8_t> out(kCount * size + 1, 0xA5);
      ConvertRow(table, 1, pixels.data(), kCount, out.data());
      for (std::size_t i = 0; i < kCount; ++i) {
        UNSCOPED_INFO(hwy::TargetName(target) << ", element " << i);
        CHECK(std::memcmp(&out[i * size], &table.bits[1][pixels[i]], size) ==
              0);
      }
      UNSCOPED_INFO("wrote beyond the row");
      CHECK(out.back() == 0xA5);
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

TEST_CASE("Conversion interleaves the rows of channels on every CPU",
          "[transform][value_table]") {
  constexpr std::size_t kCount = 77;
  std::vector<std::int64_t> targets = hwy::SupportedAndGeneratedTargets();
  targets.push_back(HWY_SCALAR);
  for (const std::int64_t target : targets) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    for (const std::size_t size : {1, 2, 4}) {
      std::vector<std::vector<std::uint8_t>> rows(3);
      for (std::size_t c = 0; c < 3; ++c) {
        rows[c].resize(kCount * size);
        for (std::size_t i = 0; i < rows[c].size(); ++i)
          rows[c][i] = static_cast<std::uint8_t>(i * 3 + c * 101);
      }
      std::vector<std::uint8_t> out(kCount * size * 3);
      const std::uint8_t* pointers[3] = {rows[0].data(), rows[1].data(),
                                         rows[2].data()};
      InterleaveRows(pointers, kCount, size, out.data());
      for (std::size_t i = 0; i < out.size(); ++i) {
        const std::size_t element = i / size / 3, c = i / size % 3;
        CAPTURE(i);
        CHECK(out[i] == rows[c][element * size + i % size]);
      }
    }
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace
}  // namespace forebay::pipeline::transform
