// Tests that a part that is taken behind audio ops needs only a part of the
// array.

#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "server/pipeline/array_transform.h"
#include "server/pipeline/workspace.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/audio/golden.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline {
namespace {

using tests::IsOk;

using audio::Clip;
using audio::GoldenClip;
using audio::Transformed;

constexpr char kMono[] = "ops { to_mono {} } ";
constexpr char kVol[] = "ops { vol { gain: 0.5 } } ";
constexpr char kDown[] = "ops { resample { orig_freq: 441 new_freq: 160 } } ";
constexpr char kUp[] = "ops { resample { orig_freq: 160 new_freq: 441 } } ";
constexpr char kSame[] = "ops { resample { orig_freq: 8 new_freq: 8 } } ";
constexpr char kCast[] =
    "ops { to_dtype { dtype: FLOAT32 } } ops { normalize { mean: 0 std: 2 } } ";

// A value for elements that no op may look at.
constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

std::unique_ptr<const ArrayTransform> Made(const std::string& ops,
                                           const Array& array) {
  auto made =
      ArrayTransform::Create(Spec(ops).ops(), array.type, array.type.bytes);
  CHECK_THAT(made, IsOk());
  return *std::move(made);
}

// Returns the result of ops that get only the part of a clip that they ask for.
// Writes that part's length to `frames`.
std::vector<float> TransformedPart(const std::string& ops, const Clip& clip,
                                   const SampleKey& key,
                                   std::uint64_t* frames) {
  const auto made = Made(ops, clip.array);
  const auto part = made->PartFor(clip.array, key);
  CHECK_THAT(part, IsOk());
  if (!part.ok()) return {};
  *frames = part->length;
  const std::size_t each = clip.values.size() / clip.array.type.shape[0];
  // The copy has exactly the size that is asked for, so that sanitizers see a
  // read behind it.
  const auto begin =
      clip.values.begin() + static_cast<std::ptrdiff_t>(part->begin * each);
  const std::vector<float> kept(
      begin, begin + static_cast<std::ptrdiff_t>(part->length * each));
  Array array;
  array.type = clip.array.type;
  array.items = {reinterpret_cast<const std::uint8_t*>(kept.data()),
                 kept.size() * sizeof(float)};
  array.first = part->begin;
  std::vector<float> out(made->output().tensor.bytes / sizeof(float), kPoison);
  Workspace workspace({.scratch_bytes = 1 << 26});
  const auto bytes =
      made->Run(array, key, workspace,
                {reinterpret_cast<std::uint8_t*>(out.data()), out.size() * 4});
  CHECK_THAT(bytes, IsOk());
  out.resize(bytes.value_or(0) / sizeof(float));
  return out;
}

// Returns the same result, but the ops before the part transform the whole
// clip.
std::vector<float> PartOfTransformed(const std::string& before,
                                     const std::string& part,
                                     const std::string& behind,
                                     const Clip& clip, const SampleKey& key) {
  const std::vector<float> whole = Transformed(before, clip.array, key);
  const auto made = Made(before, clip.array);
  std::vector<std::uint64_t> shape = made->output().tensor.shape;
  std::uint64_t each = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) each *= shape[i];
  shape[0] = whole.size() / each;
  const Clip between(shape, whole);
  return Transformed(part + behind, between.array, key);
}

void ExpectEqual(const std::vector<float>& found,
                 const std::vector<float>& wanted) {
  REQUIRE(found.size() == wanted.size());
  if (found.empty()) return;
  REQUIRE(std::memcmp(found.data(), wanted.data(), found.size() * 4) == 0);
}

struct Case {
  std::string before;
  std::string behind;
};

std::vector<Case> Cases() {
  return {{kMono, ""},
          {kVol, kMono},
          {kDown, ""},
          {kUp, ""},
          {kSame, kVol},
          {std::string(kMono) + kDown, kVol},
          {std::string(kCast) + kDown + kVol + kMono, kCast},
          {std::string(kUp) + kCast + kDown, kMono},
          {"ops { slice { start: 7 } } " + std::string(kDown) + kUp, ""},
          {std::string(kMono) + kUp,
           "ops { spectrogram { n_fft: 16 hop_length: 5 } } "}};
}

TEST_CASE("Windows of a transformed part are those of the whole clip",
          "[pipeline][array_transform_parts]") {
  const Clip clip = GoldenClip("stereo");
  const std::string window = "ops { random_window { length: 300 } } ";
  for (const Case& at : Cases()) {
    INFO(at.before + at.behind);
    for (std::uint64_t sample = 0; sample < 20; ++sample) {
      const SampleKey key{.seed = 5, .epoch = 1, .sample = sample};
      std::uint64_t frames = 0;
      ExpectEqual(
          TransformedPart(at.before + window + at.behind, clip, key, &frames),
          PartOfTransformed(at.before, window, at.behind, clip, key));
      // The part has 300 frames at 441 Hz, and what filters look at.
      CHECK(frames < 1000u);
    }
  }
}

TEST_CASE("Slices of a transformed part are those of the whole clip",
          "[pipeline][array_transform_parts]") {
  const Clip clip = GoldenClip("stereo");
  const std::string slices[] = {
      "ops { slice { stop: 1 } } ",
      "ops { slice { start: -1 } } ",
      "ops { slice { start: 3 stop: 90 } } ops { slice { start: 9 stop: 11 } }",
      "ops { slice { start: -40 stop: -20 } } ",
      "ops { slice { start: 5 stop: 5 } } ",
      "ops { slice {} } "};
  for (const Case& at : Cases()) {
    if (at.behind.find("spectrogram") != std::string::npos) continue;
    for (const std::string& slice : slices) {
      INFO(at.before + slice + at.behind);
      std::uint64_t frames = 0;
      ExpectEqual(
          TransformedPart(at.before + slice + at.behind, clip, {}, &frames),
          PartOfTransformed(at.before, slice, at.behind, clip, {}));
    }
  }
}

TEST_CASE("Padded windows have all of the clip",
          "[pipeline][array_transform_parts]") {
  const Clip clip({6, 2}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12});
  const std::string window =
      "ops { random_window { length: 40 pad_if_needed: true } } ";
  for (const Case& at : Cases()) {
    if (at.before.find("slice") != std::string::npos) continue;
    INFO(at.before + at.behind);
    std::uint64_t frames = 0;
    ExpectEqual(
        TransformedPart(at.before + window + at.behind, clip, {}, &frames),
        PartOfTransformed(at.before, window, at.behind, clip, {}));
    CHECK(frames == 6u);
  }
}

TEST_CASE("Array ops that cannot work on parts need all that comes before them",
          "[pipeline][array_transform_parts]") {
  const Clip clip = GoldenClip("stereo");
  const std::string slice = "ops { slice { start: 4 stop: 6 } } ";
  const std::string wholes[] = {
      "ops { amplitude_to_db { top_db: 80 } } ",
      "ops { transpose { order: [1, 0] } } "
      "ops { transpose { order: [1, 0] } } " +
          std::string(kDown),
      "ops { normalize { mean: [0, 1] std: [1, 2] axis: 1 } } " +
          std::string(kVol)};
  for (const std::string& whole : wholes) {
    CAPTURE(whole);
    std::uint64_t frames = 0;
    // A part that the first op takes is taken all the same.
    const std::string taken =
        absl::StrCat("ops { slice { stop: 2000 } } ", whole);
    ExpectEqual(TransformedPart(absl::StrCat(taken, slice), clip, {}, &frames),
                PartOfTransformed(taken, slice, "", clip, {}));
    CHECK(frames == 2000u);
  }
}

}  // namespace
}  // namespace forebay::pipeline
