#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "server/pipeline/audio/masking.h"
#include "server/pipeline/transform/scratch.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/audio/golden.h"

namespace forebay::pipeline::audio {
namespace {

using tests::IsOk;

float GreatestOf(const std::vector<float>& values) {
  float greatest = 0;
  for (const float value : values)
    greatest = std::max(greatest, std::fabs(value));
  return greatest;
}

std::size_t CountOf(const std::string& shape) {
  std::istringstream text(shape);
  std::size_t count = 1;
  for (std::string length; std::getline(text, length, 'x');)
    count *= std::stoul(length);
  return count;
}

TEST_CASE("Audio ops give the same numbers as torchaudio's",
          "[audio][audio_golden]") {
  std::istringstream lines(GoldenText("golden.txt"));
  const std::vector<float> all = GoldenFloats("golden.bin");
  std::size_t at = 0;
  for (std::string line; std::getline(lines, line);) {
    CAPTURE(line);
    std::istringstream words(line);
    std::string clip, tolerance, shape, ops;
    words >> clip >> tolerance >> shape;
    std::getline(words, ops);
    shape.pop_back();
    const std::size_t count = CountOf(shape);
    const std::vector<float> wanted(all.begin() + at, all.begin() + at + count);
    at += count;
    const std::vector<float> made = Transformed(ops, GoldenClip(clip).array);
    REQUIRE(made.size() == count);
    const bool is_db = tolerance.ends_with("dB");
    const float allowed = std::strtof(tolerance.c_str(), nullptr) *
                          (is_db ? 1 : GreatestOf(wanted));
    float worst = 0;
    for (std::size_t i = 0; i < count; ++i)
      worst = std::max(worst, std::fabs(made[i] - wanted[i]));
    CHECK(worst <= allowed);
  }
  CHECK(at == all.size());
}

// Draws that give two numbers by turns, and count how many were drawn.
class FixedDraws final : public transform::Draws {
 public:
  FixedDraws(float first, float second) : values_{first, second} {}
  float Unit() override { return values_[drawn_++ % 2]; }
  std::uint64_t Below(std::uint64_t) override { return 0; }
  int drawn() const { return drawn_; }

 private:
  float values_[2];
  int drawn_ = 0;
};

TEST_CASE("Masks of times and frequencies are the same as torchaudio's",
          "[audio][audio_golden]") {
  std::istringstream lines(GoldenText("masks.txt"));
  transform::Scratch scratch(0);
  std::uint64_t length = 0;
  MaskOptions options;
  float first = 0;
  float second = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  int count = 0;
  while (lines >> length >> options.most >> options.part >> first >> second >>
         begin >> end) {
    INFO(count++);
    FixedDraws draws(first, second);
    std::vector<float> times(2 * length, 1);
    const Masking of_times(options, {2});
    const Signal signal{.frames = length};
    REQUIRE_THAT(
        of_times.Run(times.data(), signal, of_times.Draw(signal, draws),
                     scratch, times.data()),
        IsOk());
    for (std::uint64_t i = 0; i < 2 * length; ++i) {
      CAPTURE(i);
      REQUIRE(times[i] == (i / 2 < begin || i / 2 >= end ? 1 : 0));
    }
    CHECK(draws.drawn() <= 2);
    options.of_times = false;
    const Masking of_bins(options, {length});
    options.of_times = true;
    const Signal three{.frames = 3};
    const std::vector<float> ones(3 * length, 1);
    std::vector<float> bins(3 * length);
    REQUIRE_THAT(of_bins.Run(ones.data(), three, of_bins.Draw(three, draws),
                             scratch, bins.data()),
                 IsOk());
    for (std::uint64_t i = 0; i < 3 * length; ++i) {
      CAPTURE(i);
      REQUIRE(bins[i] == (i % length < begin || i % length >= end ? 1 : 0));
    }
  }
  CHECK(count == 60);
}

}  // namespace
}  // namespace forebay::pipeline::audio
