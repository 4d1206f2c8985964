// Computes the weights of mel bands. The bands' edges are equally spaced on the
// mel scale. Each band rises from 0 at its lower edge to 1 at the next edge,
// and falls to 0 at the edge after that. Edges are computed in float32 where
// torchaudio does so: the weight of a bin near an edge depends on how the edge
// is rounded.

#include "server/pipeline/audio/mel_scale.h"

#include <algorithm>

#include "server/pipeline/transform/exact_math.h"

namespace forebay::pipeline::audio {
namespace {

using transform::ExactExp;
using transform::ExactLog;

constexpr double kLn10 = 2.302585092994045684;
// Slaney's scale is linear up to 1000 Hz, with 200 / 3 Hz for each mel. Above
// 1000 Hz it is logarithmic.
constexpr double kLinearHz = 200.0 / 3;
constexpr double kLogFromHz = 1000;
constexpr double kLogFromMel = kLogFromHz / kLinearHz;

// Returns the step of Slaney's logarithmic part: 27 mels multiply the frequency
// by 6.4.
double LogStep() { return ExactLog(6.4) / 27; }

// Converts Hz to mels.
double MelOf(double hz, bool slaney) {
  if (!slaney) return 2595 * (ExactLog(1 + hz / 700) / kLn10);
  if (hz < kLogFromHz) return hz / kLinearHz;
  return kLogFromMel + ExactLog(hz / kLogFromHz) / LogStep();
}

// Converts mels to Hz, in float32 as torchaudio does.
float HzOf(float mel, bool slaney) {
  if (!slaney) {
    const float exponent = mel / 2595.0F;
    const auto power = static_cast<float>(ExactExp(exponent * kLn10));
    return 700.0F * (power - 1.0F);
  }
  if (mel < static_cast<float>(kLogFromMel))
    return static_cast<float>(kLinearHz) * mel;
  const float above = mel - static_cast<float>(kLogFromMel);
  const float exponent = static_cast<float>(LogStep()) * above;
  return static_cast<float>(kLogFromHz) *
         static_cast<float>(ExactExp(exponent));
}

// Returns `count` equally spaced values. Like torch.linspace, computes the
// second half of the values from the end.
std::vector<float> Spread(float first, float last, std::size_t count) {
  std::vector<float> values(count);
  const float step = (last - first) / static_cast<float>(count - 1);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = i < count / 2 ? first + step * static_cast<float>(i)
                              : last - step * static_cast<float>(count - 1 - i);
  }
  return values;
}

}  // namespace

MelScale::MelScale(const MelOptions& options) : bands_(options.n_mels) {
  // Half of an odd sample rate is rounded down, as in torchaudio.
  const std::uint32_t half_rate = options.sample_rate / 2;
  const std::vector<float> bins =
      Spread(0, static_cast<float>(half_rate), options.bins);
  std::vector<float> edges =
      Spread(static_cast<float>(MelOf(options.f_min, options.slaney)),
             static_cast<float>(MelOf(options.f_max, options.slaney)),
             std::size_t{options.n_mels} + 2);
  for (float& edge : edges) edge = HzOf(edge, options.slaney);
  for (std::size_t i = 0; i < bands_.size(); ++i) {
    const float low = edges[i];
    const float middle = edges[i + 1];
    const float high = edges[i + 2];
    Band& band = bands_[i];
    band.weight = weights_.size();
    const float factor = options.norm ? 2.0F / (high - low) : 1.0F;
    const auto from = std::upper_bound(bins.begin(), bins.end(), low);
    const auto to = std::lower_bound(from, bins.end(), high);
    band.first = static_cast<std::size_t>(from - bins.begin());
    for (auto bin = from; bin != to; ++bin) {
      // Two edges may be equal, if a band is narrower than float32's precision.
      const float up = middle > low ? (*bin - low) / (middle - low) : 1.0F;
      const float down = high > middle ? (high - *bin) / (high - middle) : 1.0F;
      weights_.push_back(std::min(up, down) * factor);
    }
    band.count = weights_.size() - band.weight;
  }
}

void MelScale::Apply(const float* spectrum, float* bands) const {
  for (std::size_t i = 0; i < bands_.size(); ++i) {
    const Band& band = bands_[i];
    const float* const bins = spectrum + band.first;
    const float* const weights = weights_.data() + band.weight;
    float sum = 0;
    for (std::size_t k = 0; k < band.count; ++k) sum += bins[k] * weights[k];
    bands[i] = sum;
  }
}

}  // namespace forebay::pipeline::audio
