#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_MEL_SCALE_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_MEL_SCALE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::pipeline::audio {

// The parameters of torchaudio's MelScale.
struct MelOptions {
  std::uint32_t sample_rate = 16000;  // Hz
  std::uint32_t n_mels = 128;
  // Number of bins of the spectrum, at least 2.
  std::size_t bins = 201;
  double f_min = 0;     // Hz
  double f_max = 8000;  // Hz, at least 1 above f_min
  // Whether the scale is Slaney's; if not, it is HTK's.
  bool slaney = false;
  // Whether each band is divided by its width in Hz.
  bool norm = false;
};

// Sums a spectrum's bins in overlapping triangular bands, with torchaudio's
// arithmetic. Immutable and thread-safe. Owns its tables, which have a weight
// for each bin of each band. Never blocks. No errors.
class MelScale {
 public:
  explicit MelScale(const MelOptions& options);

  // Returns the number of bands.
  std::size_t bands() const { return bands_.size(); }
  // Fills `bands`, of bands() numbers, from a spectrum's bins.
  void Apply(const float* spectrum, float* bands) const;

 private:
  // A triangular band.
  struct Band {
    // First bin with a weight.
    std::size_t first = 0;
    // Number of bins.
    std::size_t count = 0;
    // Index in weights_ of the first bin's weight.
    std::size_t weight = 0;
  };

  std::vector<Band> bands_;
  std::vector<float> weights_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_MEL_SCALE_H_
