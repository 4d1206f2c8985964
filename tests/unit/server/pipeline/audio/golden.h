#ifndef FOREBAY_TESTS_UNIT_SERVER_PIPELINE_AUDIO_GOLDEN_H_
#define FOREBAY_TESTS_UNIT_SERVER_PIPELINE_AUDIO_GOLDEN_H_

#include <cstdint>
#include <string>
#include <vector>

#include "server/pipeline/array.h"

namespace forebay::pipeline::audio {

// A clip with memory of its own.
struct Clip {
  Clip(std::vector<std::uint64_t> shape, std::vector<float> values,
       std::uint32_t rate = 0);

  std::vector<float> values;
  Array array;
};

// Both return a file of tests/golden/audio_ops, as text or as float32.
std::string GoldenText(const std::string& name);
std::vector<float> GoldenFloats(const std::string& name);

// Returns the clip "mono" or "stereo".
Clip GoldenClip(const std::string& name);

// Returns the result of ops, given in protobuf's text format, on a clip.
std::vector<float> Transformed(const std::string& ops, const Array& array,
                               const SampleKey& key = {});

}  // namespace forebay::pipeline::audio

#endif  // FOREBAY_TESTS_UNIT_SERVER_PIPELINE_AUDIO_GOLDEN_H_
