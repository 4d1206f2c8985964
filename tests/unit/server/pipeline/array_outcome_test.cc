// An ArrayTransform says how long arrays become before there are any.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/pipeline/array_transform.h"
#include "server/pipeline/workspace.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline {
namespace {

constexpr std::uint32_t kRate = 8000;

TensorType Clip(std::uint64_t frames) {
  return {.dtype = proto::DType::kFloat32,
          .shape = {frames},
          .bytes = frames * sizeof(float)};
}

std::unique_ptr<const ArrayTransform> Made(const std::string& ops) {
  auto made = ArrayTransform::Create(Spec(ops).ops(), Clip(100), 40'000, kRate);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// Of each length, what it says is what Run makes.
TEST(OutcomeTest, TellsWhatBecomesOfALength) {
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
    SCOPED_TRACE(ops);
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
      ASSERT_TRUE(bytes.ok()) << bytes.status();
      const TensorType& output = made->output().tensor;
      std::uint64_t each = sizeof(float);
      for (std::size_t i = 1; i < output.shape.size(); ++i)
        each *= output.shape[i];
      EXPECT_EQ(made->OutcomeOf(length, kRate).length, *bytes / each);
    }
  }
}

TEST(OutcomeTest, TellsHowLongAClipIsInTime) {
  const auto time = [](const char* ops, std::uint64_t frames,
                       std::uint32_t rate) {
    const Outcome made = Made(ops)->OutcomeOf(frames, rate);
    return static_cast<double>(made.frames) / made.rate;
  };
  EXPECT_EQ(time("", 8000, 8000), 1.0);
  EXPECT_EQ(time("", 8000, 16000), 0.5);
  EXPECT_EQ(time("ops { resample { new_freq: 6000 } }", 8000, 16000), 0.5);
  EXPECT_EQ(time("ops { slice { stop: 2000 } }", 8000, 8000), 0.25);
  EXPECT_EQ(time("ops { resample { new_freq: 4000 } } "
                 "ops { random_window { length: 1000 } }",
                 8000, 16000),
            0.25);
  EXPECT_EQ(time("ops { spectrogram { n_fft: 8 hop_length: 4 } }", 8000, 8000),
            1.0);
  // Of its 2001 times, half are left.
  EXPECT_NEAR(time("ops { spectrogram { n_fft: 8 hop_length: 4 } } "
                   "ops { slice { stop: 1000 } }",
                   8000, 8000),
              0.5, 1e-3);
  // Nothing becomes of it.
  const Outcome none = Made("ops { spectrogram { n_fft: 8 hop_length: 4 } }")
                           ->OutcomeOf(3, kRate);
  EXPECT_EQ(none.length, 0u);
  EXPECT_EQ(none.frames, 0u);
}

}  // namespace
}  // namespace forebay::pipeline
