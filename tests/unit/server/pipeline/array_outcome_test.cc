// Tests that an ArrayTransform tells how long arrays become before there are
// any.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/pipeline/array_transform.h"
#include "server/pipeline/workspace.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline {
namespace {

using Catch::WithinAbs;
using tests::IsOk;

constexpr std::uint32_t kRate = 8000;

TensorType Clip(std::uint64_t frames) {
  return {.dtype = proto::DType::kFloat32,
          .shape = {frames},
          .bytes = frames * sizeof(float)};
}

std::unique_ptr<const ArrayTransform> Made(const std::string& ops) {
  auto made = ArrayTransform::Create(Spec(ops).ops(), Clip(100), 40'000, kRate);
  CHECK_THAT(made, IsOk());
  return *std::move(made);
}

// The outcome for each length is what Run() makes.
TEST_CASE("An outcome tells what becomes of an array's length",
          "[pipeline][array_outcome]") {
  for (const char* const ops :
       {"", "ops { slice { start: 5 } }",
        "ops { slice { start: -30 stop: -2 } }",
        "ops { slice { stop: 70 } } ops { vol { gain: 2 } }",
        "ops { resample { new_freq: 6000 } }",
        "ops { slice { start: 3 } } ops { resample { new_freq: 12000 } } "
        "ops { slice { stop: 90 } }",
        "ops { resample { new_freq: 12000 } } "
        "ops { random_window { length: 40 pad_if_needed: true } }",
        "ops { spectrogram { n_fft: 8 hop_length: 3 } } "
        "ops { slice { start: 2 } }"}) {
    CAPTURE(ops);
    const auto made = Made(ops);
    for (const std::uint64_t length : {20, 33, 100}) {
      std::vector<float> numbers(length, 0.5F);
      Array array;
      array.type = Clip(length);
      array.items = {reinterpret_cast<const std::uint8_t*>(numbers.data()),
                     length * sizeof(float)};
      array.sample_rate = kRate;
      std::vector<std::uint8_t> out(1 << 16);
      Workspace workspace({.scratch_bytes = 1 << 24});
      const auto bytes = made->Run(array, {}, workspace, absl::MakeSpan(out));
      REQUIRE_THAT(bytes, IsOk());
      const TensorType& output = made->output().tensor;
      std::uint64_t each = sizeof(float);
      for (std::size_t i = 1; i < output.shape.size(); ++i)
        each *= output.shape[i];
      CHECK(made->OutcomeOf(length, kRate).length == *bytes / each);
    }
  }
}

TEST_CASE("An outcome tells how long a clip is in time",
          "[pipeline][array_outcome]") {
  const auto time = [](const char* ops, std::uint64_t frames,
                       std::uint32_t rate) {
    const Outcome made = Made(ops)->OutcomeOf(frames, rate);
    return static_cast<double>(made.frames) / made.rate;
  };
  CHECK(time("", 8000, 8000) == 1.0);
  CHECK(time("", 8000, 16000) == 0.5);
  CHECK(time("ops { resample { new_freq: 6000 } }", 8000, 16000) == 0.5);
  CHECK(time("ops { slice { stop: 2000 } }", 8000, 8000) == 0.25);
  CHECK(time("ops { resample { new_freq: 4000 } } "
             "ops { random_window { length: 1000 } }",
             8000, 16000) == 0.25);
  CHECK(time("ops { spectrogram { n_fft: 8 hop_length: 4 } }", 8000, 8000) ==
        1.0);
  // The slice leaves half of the spectrogram's 2001 times.
  CHECK_THAT(time("ops { spectrogram { n_fft: 8 hop_length: 4 } } "
                  "ops { slice { stop: 1000 } }",
                  8000, 8000),
             WithinAbs(0.5, 1e-3));
  // Three frames are too few for the spectrogram, which makes nothing of them.
  const Outcome none = Made("ops { spectrogram { n_fft: 8 hop_length: 4 } }")
                           ->OutcomeOf(3, kRate);
  CHECK(none.length == 0u);
  CHECK(none.frames == 0u);
}

}  // namespace
}  // namespace forebay::pipeline
