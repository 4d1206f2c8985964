#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "server/pipeline/audio/mel_scale.h"
#include "server/pipeline/audio/real_fft.h"
#include "server/pipeline/audio/resample_kernel.h"
#include "server/pipeline/transform/exact_math.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::pipeline::audio {
namespace {

using Catch::WithinAbs;
using tests::IsOk;

TEST_CASE("Sines and cosines of multiples of pi are exact",
          "[audio][audio_parts]") {
  const long double pi = std::acos(-1.0L);
  for (int i = -5000; i <= 5000; ++i) {
    const double x = i / 787.0;
    REQUIRE_THAT(transform::ExactSinPi(x),
                 WithinAbs(static_cast<double>(std::sin(pi * x)), 1e-15));
    REQUIRE_THAT(transform::ExactCosPi(x),
                 WithinAbs(static_cast<double>(std::cos(pi * x)), 1e-15));
  }
  CHECK(transform::ExactCosPi(0.5) == 0);
  CHECK(transform::ExactSinPi(1e9) == 0);
}

TEST_CASE("The powers of a real FFT are those of the direct sum",
          "[audio][audio_parts]") {
  std::minstd_rand random(3);
  for (const std::uint32_t size : {2u, 3u, 4u, 5u, 7u, 8u, 30u, 49u, 128u}) {
    CAPTURE(size);
    const RealFft fft(size);
    std::vector<float> work(fft.work_elements());
    std::vector<float> numbers(size);
    for (float& number : numbers)
      number = static_cast<float>(random() % 2001) / 1000 - 1;
    std::copy(numbers.begin(), numbers.end(), work.begin());
    std::vector<float> powers(fft.bins() + 1, -7);
    fft.Powers(work.data(), 0.5F, powers.data());
    CHECK(powers.back() == -7);  // behind the last bin, so not written
    for (std::size_t k = 0; k < fft.bins(); ++k) {
      double real = 0;
      double imaginary = 0;
      for (std::size_t i = 0; i < size; ++i) {
        const double angle = 2.0 * static_cast<double>(i * k) / size;
        real += numbers[i] * transform::ExactCosPi(angle);
        imaginary -= numbers[i] * transform::ExactSinPi(angle);
      }
      REQUIRE_THAT(
          powers[k],
          WithinAbs((real * real + imaginary * imaginary) / 2, 1e-5 * size));
    }
  }
}

TEST_CASE("Bands of a mel scale cover their own bins alone",
          "[audio][audio_parts]") {
  const MelScale scale({.n_mels = 10, .bins = 201, .f_min = 1000});
  std::vector<float> bands(scale.bands());
  std::vector<float> spectrum(201, 0);
  for (std::size_t k = 0; k <= 25; ++k) spectrum[k] = 1e9F;
  scale.Apply(spectrum.data(), bands.data());
  for (const float band : bands) CHECK(band == 0);
  // The bands' filters sum up to 1 between the centers of the first band and
  // the last.
  spectrum.assign(201, 0);
  spectrum[100] = 3;
  scale.Apply(spectrum.data(), bands.data());
  float sum = 0;
  for (const float band : bands) sum += band;
  CHECK_THAT(sum, WithinAbs(3, 1e-5));
}

TEST_CASE("Lengths and room of a resampling kernel fit for each pair of rates",
          "[audio][audio_parts]") {
  const std::uint32_t rates[] = {1, 2, 3, 147, 160, 8000, 11025, 16000};
  for (const std::uint32_t from : rates) {
    for (const std::uint32_t to : rates) {
      if (from / to > 200) continue;
      const auto kernel = ResampleKernel::Create(from, to, {});
      UNSCOPED_INFO(from << " " << to << kernel.status());
      REQUIRE_THAT(kernel, IsOk());
      std::uint64_t before = 0;
      for (std::uint64_t frames = 0; frames < 60; ++frames) {
        const auto made = (*kernel)->FramesOf(frames);
        REQUIRE_THAT(made, IsOk());
        CHECK(*made == (frames * to + from - 1) / from);
        CHECK(*made >= before);
        before = *made;
        if (*made > 4000) continue;
        // The buffers have exactly the sizes that are asked for, so that
        // sanitizers see accesses behind them.
        if (*made == 0) continue;
        const FrameRange all{.length = *made};
        std::vector<float> clip((*kernel)->RoomFor(all).length);
        std::vector<float> out(*made);
        (*kernel)->Run(clip.data(), all, out.data(), 1);
      }
    }
  }
}

TEST_CASE("A resampling kernel keeps a constant signal constant",
          "[audio][audio_parts]") {
  const auto kernel = ResampleKernel::Create(44100, 16000, {});
  REQUIRE_THAT(kernel, IsOk());
  const FrameRange all{.length = *(*kernel)->FramesOf(5000)};
  const ResampleKernel::Room room = (*kernel)->RoomFor(all);
  std::vector<float> clip(room.length);
  for (std::int64_t i = std::max<std::int64_t>(0, -room.begin);
       i < static_cast<std::int64_t>(room.length) && room.begin + i < 5000; ++i)
    clip[i] = 0.5F;
  std::vector<float> out(all.length);
  (*kernel)->Run(clip.data(), all, out.data(), 1);
  for (std::size_t i = 20; i + 20 < out.size(); ++i) {
    CAPTURE(i);
    REQUIRE_THAT(out[i], WithinAbs(0.5F, 2e-3));
  }
}

TEST_CASE("A resampling kernel refuses rates that need too large a table",
          "[audio][audio_parts]") {
  const auto refusal = [](std::uint32_t from, std::uint32_t to,
                          const ResampleOptions& options = {}) {
    return std::string(
        ResampleKernel::Create(from, to, options).status().message());
  };
  CHECK(refusal(1 << 24, 1) ==
        "from 16777216 to 1 Hz needs too large a table: take rates with a "
        "greater common divisor, a smaller lowpass_filter_width or a "
        "greater rolloff");
  CHECK_FALSE(refusal(1, 1 << 24).empty());
  CHECK_FALSE(refusal(96000, 95999).empty());
  CHECK_FALSE(refusal(16000, 8000, {.rolloff = 1e-6}).empty());
  CHECK_THAT(refusal(1 << 24, 1 << 24), Catch::Equals(""));
  CHECK_THAT(refusal(1 << 24, 1 << 20), Catch::Equals(""));
}

TEST_CASE("A resampling kernel refuses clips that are too long",
          "[audio][audio_parts]") {
  const auto kernel = ResampleKernel::Create(1, 3, {});
  REQUIRE_THAT(kernel, IsOk());
  CHECK((*kernel)->FramesOf(~std::uint64_t{0}).status().message() ==
        "is too long");
  CHECK((*kernel)->FramesOf(std::uint64_t{1} << 40).status().message() ==
        "is too long");
}

}  // namespace
}  // namespace forebay::pipeline::audio
