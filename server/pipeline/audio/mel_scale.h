#ifndef FOREBAY_SERVER_PIPELINE_AUDIO_MEL_SCALE_H_
#define FOREBAY_SERVER_PIPELINE_AUDIO_MEL_SCALE_H_

#include <cstddef>
#include <cstdint>
#include <vector>

namespace forebay::pipeline::audio {

struct MelOptions {
  std::uint32_t sample_rate = 16000;  // Hz
  std::uint32_t n_mels = 128;
  std::size_t bins = 201;  // of the spectrum, at least 2
  double f_min = 0;        // Hz
  double f_max = 8000;     // Hz, at least 1 above f_min
  bool slaney = false;     // the scale; else HTK's
  bool norm = false;       // whether bands are divided by their width
};

// Sums a spectrum's bins in overlapping triangular bands, with torchaudio's
// numerics. Immutable and thread-safe. Owns its tables, which are as long as
// the bands have bins. Does not block. No errors.
class MelScale {
 public:
  explicit MelScale(const MelOptions& options);

  std::size_t bands() const { return bands_.size(); }
  // Fills the bands of a spectrum.
  void Apply(const float* spectrum, float* bands) const;

 private:
  struct Band {
    std::size_t first = 0;   // bin
    std::size_t count = 0;   // of bins
    std::size_t weight = 0;  // the first one's place
  };

  std::vector<Band> bands_;
  std::vector<float> weights_;
};

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_SERVER_PIPELINE_AUDIO_MEL_SCALE_H_
