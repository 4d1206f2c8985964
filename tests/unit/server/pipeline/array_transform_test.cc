#include "server/pipeline/array_transform.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "server/pipeline/workspace.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/audio/golden.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline {
namespace {

using tests::HasCode;
using tests::IsOk;

using audio::Clip;
using audio::GoldenClip;
using audio::Transformed;
using Shape = std::vector<std::uint64_t>;

TensorType Floats(Shape shape) {
  TensorType type{.dtype = proto::DType::kFloat32, .shape = std::move(shape)};
  type.bytes = sizeof(float);
  for (const std::uint64_t length : type.shape) type.bytes *= length;
  return type;
}

std::unique_ptr<const ArrayTransform> Made(
    const std::string& ops, const TensorType& first,
    std::optional<std::uint64_t> longest = std::nullopt,
    std::uint32_t rate = 0) {
  auto made = ArrayTransform::Create(Spec(ops).ops(), first, longest, rate);
  CHECK_THAT(made, IsOk());
  return made.ok() ? *std::move(made) : nullptr;
}

absl::StatusOr<std::uint64_t> RunOn(const ArrayTransform& transform,
                                    const Clip& clip,
                                    std::vector<std::uint8_t>* out,
                                    std::uint64_t scratch_bytes = 1 << 26) {
  Workspace workspace({.scratch_bytes = scratch_bytes});
  return transform.Run(clip.array, {}, workspace, absl::MakeSpan(*out));
}

std::string Refusal(const std::string& ops, const TensorType& first,
                    std::optional<std::uint64_t> longest = std::nullopt) {
  return std::string(
      ArrayTransform::Create(Spec(ops).ops(), first, longest, 16000)
          .status()
          .message());
}

constexpr char kSmallSpectrogram[] =
    "ops { spectrogram { n_fft: 8 hop_length: 3 } } ";

TEST_CASE("An array transform without audio ops is an array pipeline",
          "[pipeline][array_transform]") {
  const auto made = Made("ops { slice { start: 1 } }", Floats({5}));
  CHECK_FALSE(made->uses_scratch());
  CHECK(made->output().tensor.shape == Shape{4});
  CHECK(Transformed("ops { slice { start: 1 } }", Clip({3}, {1, 2, 3}).array) ==
        std::vector<float>{2, 3});
}

TEST_CASE("An array transform puts time first in the shapes of spectrograms",
          "[pipeline][array_transform]") {
  CHECK(Made(kSmallSpectrogram, Floats({30}))->output().tensor.shape ==
        Shape{11, 5});
  CHECK(Made(kSmallSpectrogram, Floats({30, 2}))->output().tensor.shape ==
        Shape{11, 2, 5});
  CHECK(Made(std::string(kSmallSpectrogram) +
                 "ops { transpose { order: [1, 2, 0] } }",
             Floats({30, 2}))
            ->output()
            .tensor.shape == Shape{2, 5, 11});
  const auto ragged =
      Made("ops { to_mono {} } ops { mfcc {} }", Floats({30, 2}), 8000);
  CHECK(ragged->output().tensor.shape == Shape{6, 40});
  CHECK(ragged->output().ragged_axis == 0u);
}

TEST_CASE("Other array ops may come between audio ops",
          "[pipeline][array_transform]") {
  const Clip clip = GoldenClip("stereo");
  const std::vector<float> whole = Transformed(
      std::string(kSmallSpectrogram) + "ops { vol { gain: 0.5 } }", clip.array);
  const std::vector<float> part = Transformed(
      "ops { slice { stop: 2999 } } ops { transpose { order: [1, 0] } } "
      "ops { transpose { order: [1, 0] } } " +
          std::string(kSmallSpectrogram) +
          "ops { slice { start: 2 stop: 7 } } ops { slice { start: 1 axis: 2 } "
          "} ops { vol { gain: 0.5 } } ops { transpose { order: [1, 0, 2] } } "
          "ops { to_dtype { dtype: FLOAT32 } } "
          "ops { normalize { mean: 1 std: 2 } }",
      clip.array);
  REQUIRE(part.size() == 2u * 5 * 4);
  for (std::size_t channel = 0; channel < 2; ++channel) {
    for (std::size_t time = 0; time < 5; ++time) {
      for (std::size_t bin = 0; bin < 4; ++bin) {
        const float value = whole[((time + 2) * 2 + channel) * 5 + bin + 1];
        REQUIRE(part[(channel * 5 + time) * 4 + bin] == (value - 1) / 2);
      }
    }
  }
}

TEST_CASE("Resampling to the same rate changes nothing",
          "[pipeline][array_transform]") {
  const Clip clip = GoldenClip("stereo");
  const std::string ops =
      "ops { resample { orig_freq: 16000 new_freq: 16000 } }";
  CHECK(Transformed(ops, clip.array) == clip.values);
}

TEST_CASE("Lengths that an array transform makes are as planned",
          "[pipeline][array_transform]") {
  const std::string mel =
      "ops { mel_spectrogram { spectrogram { n_fft: 20 center: false } } } ";
  const std::string volume =
      "ops { slice { start: 3 } } ops { vol { gain: 1 } } ";
  const std::string pipelines[] = {
      "ops { resample { orig_freq: 441 new_freq: 160 } } ",
      "ops { resample { orig_freq: 2 new_freq: 3 } } " +
          std::string(kSmallSpectrogram),
      "ops { spectrogram { n_fft: 50 hop_length: 7 pad_mode: CONSTANT } } ",
      mel + "ops { slice { stop: 90 } } ops { amplitude_to_db {} }",
      volume + "ops { slice { start: -400 } } ops { vol { gain: 1 } }",
      "ops { mfcc { mel { spectrogram { pad: 9 } n_mels: 4 } n_mfcc: 2 } }"};
  const Clip clip({2000}, std::vector<float>(2000, 0.5F));
  for (const std::string& ops : pipelines) {
    CAPTURE(ops);
    const auto made = Made(ops, clip.array.type, clip.array.type.bytes);
    REQUIRE(made->output().ragged_axis == 0u);
    const TensorType& output = made->output().tensor;
    const std::uint64_t each = output.bytes / output.shape[0];
    Workspace workspace({});
    for (std::uint64_t frames = 0; frames <= 2000; ++frames) {
      Array part = clip.array;
      part.type = Floats({frames});
      part.items = part.items.first(part.type.bytes);
      const std::uint64_t most = made->LongestFrom(frames);
      REQUIRE(most <= output.shape[0]);
      std::vector<std::uint8_t> out(most * each);
      const auto bytes = made->Run(part, {}, workspace, absl::MakeSpan(out));
      if (bytes.ok()) {
        REQUIRE(*bytes <= out.size());
        if (ops.find("slice") == std::string::npos) {
          REQUIRE(*bytes == out.size());
        }
      } else {
        REQUIRE_THAT(bytes, HasCode(absl::StatusCode::kInvalidArgument));
        REQUIRE(most == 0u);
      }
    }
  }
}

TEST_CASE("Spectrogram masks are drawn once a sample",
          "[pipeline][array_transform]") {
  const Clip ones({50, 2, 30}, std::vector<float>(3000, 1));
  const std::string ops =
      "ops { time_masking { time_mask_param: 20 } } "
      "ops { frequency_masking { freq_mask_param: 10 } } "
      "ops { frequency_masking { freq_mask_param: 10 } }";
  std::vector<std::size_t> counts;
  for (std::uint64_t sample = 0; sample < 300; ++sample) {
    const SampleKey key{.seed = 1, .epoch = 2, .sample = sample};
    const std::vector<float> made = Transformed(ops, ones.array, key);
    REQUIRE(made == Transformed(ops, ones.array, key));
    // All channels have the same masks.
    std::size_t times = 0;
    std::size_t bins = 0;
    for (std::size_t time = 0; time < 50; ++time) {
      const auto row = made.begin() + static_cast<std::ptrdiff_t>(time * 60);
      REQUIRE(std::equal(row, row + 30, row + 30));
      times += std::count(row, row + 30, 0.0F) == 30 ? 1 : 0;
      bins = std::max<std::size_t>(
          bins, static_cast<std::size_t>(std::count(row, row + 30, 1.0F)));
    }
    REQUIRE(times < 20u);
    REQUIRE(bins >= 30u - 9 - 9);
    counts.push_back(times);
  }
  std::sort(counts.begin(), counts.end());
  CHECK(counts.front() == 0u);
  CHECK(counts.back() == 19u);
}

TEST_CASE("Two masks of a spectrogram's axis are drawn independently",
          "[pipeline][array_transform]") {
  const Clip ones({1, 4000}, std::vector<float>(4000, 1));
  const auto masked = [&](const std::string& ops) {
    const std::vector<float> made = Transformed(ops, ones.array, {.sample = 5});
    return std::count(made.begin(), made.end(), 0.0F);
  };
  const std::string mask = "ops { frequency_masking { freq_mask_param: 40 } } ";
  CHECK(masked(mask + mask) > masked(mask));
}

TEST_CASE("A clip's own sample rate counts for resampling",
          "[pipeline][array_transform]") {
  const std::string ops = "ops { resample { new_freq: 8000 } } ";
  const Clip fast({100}, std::vector<float>(100, 1), 16000);
  const Clip slow({100}, std::vector<float>(100, 1), 4000);
  const auto made = Made(ops, fast.array.type, 400, 16000);
  CHECK(made->output().tensor.shape == Shape{50});
  CHECK(made->LongestFrom(11) == 6u);
  std::vector<std::uint8_t> out(200);
  CHECK(*RunOn(*made, fast, &out) == 200u);
  CHECK(RunOn(*made, slow, &out).status().message() ==
        "has a sample rate of 4000 Hz, less than the first one, and so becomes "
        "too long: give Resample the least rate as lowest_freq");
  const auto any = Made("ops { resample { new_freq: 8000 lowest_freq: 4000 } }",
                        fast.array.type, 400, 16000);
  CHECK(any->output().tensor.shape == Shape{200});
  CHECK(any->LongestFrom(11) == 22u);
  out.resize(800);
  CHECK(*RunOn(*any, slow, &out) == 800u);
  CHECK(*RunOn(*any, fast, &out) == 200u);
  // A window has the same length, whatever the sample rate.
  const auto window = Made(ops + "ops { random_window { length: 30 } }",
                           fast.array.type, 400, 16000);
  CHECK(*RunOn(*window, slow, &out) == 120u);
  const Clip unknown({100}, std::vector<float>(100, 1));
  CHECK(RunOn(*made, unknown, &out).status().message() ==
        "the array does not tell its sample rate: give orig_freq");
}

TEST_CASE("Clips of many sample rates may take turns in one resampling",
          "[pipeline][array_transform]") {
  const std::string ops = "ops { resample { new_freq: 16001 } } ";
  const auto made = Made(ops, Floats({8}), 400, 16000);
  for (std::uint32_t rate = 16000; rate < 16024; ++rate) {
    const Clip clip({8}, std::vector<float>(8, 1), rate);
    std::vector<std::uint8_t> out(400);
    CHECK(*RunOn(*made, clip, &out) ==
          (rate <= 16001 ? 36u - 4 * (rate - 16000) : 32u));
  }
}

TEST_CASE("ToMono takes any number of channels of audio",
          "[pipeline][array_transform]") {
  const std::string ops =
      "ops { slice { start: 1 } } ops { to_mono {} } ops { vol { gain: 0.5 } }";
  const Clip stereo({3, 2}, {0, 1, .25F, .75F, 1, 0}, 8000);
  const Clip wide({2, 4}, {9, 9, 9, 9, .5F, .25F, .25F, 0}, 8000);
  const auto made = Made(ops, stereo.array.type, 800, 8000);
  std::vector<std::uint8_t> out(made->output().tensor.bytes);
  const auto values = [&](const Clip& clip) {
    const auto bytes = RunOn(*made, clip, &out);
    CHECK_THAT(bytes, IsOk());
    std::vector<float> found(bytes.value_or(0) / sizeof(float));
    std::memcpy(found.data(), out.data(), found.size() * sizeof(float));
    return found;
  };
  CHECK(values(stereo) == std::vector<float>{.25F, .25F});
  CHECK(values(wide) == std::vector<float>{.125F});
  const std::string said =
      "has 4 channels, but the first one has 2, as all must: make them one by "
      "ToMono";
  // Other numbers of channels are refused where ops depend on them, and in
  // arrays that are not audio.
  const auto turned = Made("ops { slice { start: 1 axis: 1 } } " + ops,
                           stereo.array.type, 800, 8000);
  CHECK(RunOn(*turned, wide, &out).status().message() == said);
  const auto plain = Made(ops, stereo.array.type, 800);
  CHECK(RunOn(*plain, wide, &out).status().message() == said);
}

TEST_CASE("An array transform says that it has too little scratch",
          "[pipeline][array_transform]") {
  const Clip clip({5000, 2}, std::vector<float>(10000, 1));
  const auto made =
      Made("ops { resample { orig_freq: 2 new_freq: 1 } }", clip.array.type);
  std::vector<std::uint8_t> out(made->output().tensor.bytes);
  CHECK_THAT(RunOn(*made, clip, &out, 1 << 14),
             HasCode(absl::StatusCode::kResourceExhausted));
  CHECK_THAT(RunOn(*made, clip, &out), IsOk());
}

TEST_CASE("An array transform takes arrays that lie anywhere in memory",
          "[pipeline][array_transform]") {
  // Neither the array nor its place is aligned.
  const Clip clip = GoldenClip("mono");
  const std::vector<float> wanted = Transformed(kSmallSpectrogram, clip.array);
  std::vector<std::uint8_t> bytes(clip.array.items.size() + 1);
  std::copy(clip.array.items.begin(), clip.array.items.end(),
            bytes.begin() + 1);
  Array moved = clip.array;
  moved.items = absl::MakeSpan(bytes).subspan(1);
  const auto made = Made(kSmallSpectrogram, clip.array.type);
  std::vector<std::uint8_t> out(made->output().tensor.bytes + 1);
  Workspace workspace({});
  REQUIRE_THAT(made->Run(moved, {}, workspace, absl::MakeSpan(out).subspan(1)),
               IsOk());
  CHECK(std::memcmp(out.data() + 1, wanted.data(), out.size() - 1) == 0);
}

TEST_CASE("An array transform says that a clip is too short",
          "[pipeline][array_transform]") {
  const auto made = Made("ops { spectrogram {} }", Floats({500}), 4000);
  std::vector<std::uint8_t> out(made->output().tensor.bytes);
  const Clip clip({200}, std::vector<float>(200, 1));
  CHECK(RunOn(*made, clip, &out).status().message() ==
        "has 200 frames, too few to reflect 200 at each end: pad it, or "
        "take pad_mode \"constant\"");
  const auto plain =
      Made("ops { spectrogram { center: false } }", Floats({500}), 4000);
  CHECK(RunOn(*plain, clip, &out).status().message() ==
        "has 200 frames, fewer than n_fft, which is 400");
}

TEST_CASE("An array transform says that a clip takes too long",
          "[pipeline][array_transform]") {
  // The longest clips may take longer than a thread may work on one. Clips that
  // do not are still transformed.
  const auto made = Made("ops { spectrogram { n_fft: 65536 hop_length: 1 } }",
                         Floats({40000}), std::uint64_t{1} << 40);
  const Clip clip({70000}, std::vector<float>(70000, 1));
  std::vector<std::uint8_t> out(1024);
  CHECK(RunOn(*made, clip, &out).status().message() ==
        "has 70001 times, each of n_fft 65536 elements: take a larger "
        "hop_length, or a part of the clip");
}

TEST_CASE("An array transform says which arrays are wrong for an op",
          "[pipeline][array_transform]") {
  TensorType shorts{.dtype = proto::DType::kInt16, .shape = {9}, .bytes = 18};
  CHECK(Refusal("ops { to_mono {} }", shorts) ==
        "transform 1 (ToMono): takes float32, not int16 (9,): put "
        "ToDtype(\"float32\") before it");
  CHECK(Refusal("ops { vol { gain: 1 } }", Floats({})) ==
        "transform 1 (Vol): takes arrays, not single numbers");
  CHECK(
      Refusal("ops { vol { gain: 1 } } ops { mfcc {} }", Floats({900, 2, 2})) ==
      "transform 2 (MFCC): takes clips of 1 or 2 axes, (frames) or "
      "(frames, channels), not arrays of 3");
  CHECK(Refusal("ops { to_mono {} }", Floats({9, 0})) ==
        "transform 1 (ToMono): takes clips with channels, not with none");
  CHECK(Refusal("ops { slice { stop: 4 } } ops { time_masking {} }",
                Floats({9})) ==
        "transform 2 (TimeMasking): takes spectrograms, not arrays of one "
        "axis");
  CHECK(Refusal("ops { vol { gain: 1 } } ops { slice { axis: 3 } }",
                Floats({9})) ==
        "transform 2 (Slice): axis is 3, but the array has 1 axes");
  CHECK_THAT(Refusal("ops { transpose { order: [1, 0] } } ops { to_mono {} } "
                     "ops { random_window { length: 3 } }",
                     Floats({2, 9}), 800),
             Catch::Equals(""));
  CHECK_THAT(Refusal("ops { random_window { length: 2 axis: 1 } } "
                     "ops { vol { gain: 1 } }",
                     Floats({9, 4}), 800),
             Catch::Equals(""));
  std::string many;
  for (int i = 0; i < 65; ++i) many += "ops { vol { gain: 1 } } ";
  CHECK(Refusal(many, Floats({9})) ==
        "the pipeline has 65 transforms, more than 64");
  many.clear();
  for (int i = 0; i < 5; ++i)
    many += "ops { resample { orig_freq: 1 new_freq: 1 } } ";
  CHECK(Refusal(many, Floats({9})) ==
        "the pipeline has 5 times Resample, more than 4");
}

}  // namespace
}  // namespace forebay::pipeline
