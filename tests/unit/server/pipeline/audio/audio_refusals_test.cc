#include <string>

#include "server/pipeline/audio/audio_ops.h"
#include "server/pipeline/op_traits.h"
#include "server/pipeline/transform/drawn.h"
#include "server/pipeline/transform/scratch.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline::audio {
namespace {

using tests::IsOk;

OpOrRefusal MakeOp(const proto::Op& op, const Input& input) {
  return MakeAny(op, input, absl::InternalError("an op of another domain"));
}

std::string Refusal(const std::string& op, const Input& input = {}) {
  const proto::Op read = Spec("ops { " + op + " }").ops(0);
  const absl::Status checked = CheckFields(read);
  return std::string(
      (checked.ok() ? MakeOp(read, input).status() : checked).message());
}

TEST_CASE("Resample refuses parameters out of range",
          "[audio][audio_refusals]") {
  CHECK(Refusal("resample { orig_freq: 1 }") ==
        "new_freq is 0, not 1 to 16777216");
  CHECK(Refusal("resample { orig_freq: 16777217 new_freq: 1 }") ==
        "orig_freq is 16777217, not 0 to 16777216");
  CHECK(Refusal("resample { new_freq: 1 lowest_freq: 99999999 }") ==
        "lowest_freq is 99999999, not 0 to 16777216");
  CHECK(Refusal("resample { new_freq: 1 }") ==
        "the array does not tell its sample rate: give orig_freq");
  CHECK_THAT(Refusal("resample { new_freq: 1 }", {.rate = 8}),
             Catch::Equals(""));
  CHECK(Refusal("resample { new_freq: 1 }", {.rate = 1U << 25}) ==
        "the clip has a sample rate of 33554432 Hz, not 1 to 16777216");
  const std::string both = "resample { orig_freq: 2 new_freq: 1 ";
  CHECK(Refusal(both + "lowpass_filter_width: 1025 }") ==
        "lowpass_filter_width is 1025, not 1 to 1024");
  for (const char* const value : {"nan", "-1", "1.1", "inf"}) {
    CHECK_FALSE(Refusal(both + "rolloff: " + value + " }").empty());
    CHECK(Refusal(both + "beta: " + value + " }").empty() !=
          (std::string(value) != "1.1"));
  }
  CHECK(Refusal(both + "method: 3 }") ==
        "resampling_method is 3, which this daemon does not know: it knows "
        "SINC_HANN, SINC_KAISER");
}

TEST_CASE("Vol refuses parameters out of range", "[audio][audio_refusals]") {
  CHECK(Refusal("vol { gain: -1 }") == "gain is -1, not 0 to 1e+06");
  CHECK(Refusal("vol { gain: nan }") == "gain is nan, not 0 to 1e+06");
  CHECK(Refusal("vol { gain: 0 gain_type: POWER }") ==
        "gain is 0, not 1e-12 to 1e+12");
  CHECK(Refusal("vol { gain: 300 gain_type: DB }") ==
        "gain is 300, not -240 to 120");
  CHECK(Refusal("vol { gain_type: 7 }") ==
        "gain_type is 7, which this daemon does not know: it knows "
        "AMPLITUDE, POWER, DB");
}

TEST_CASE("Spectrogram refuses parameters out of range",
          "[audio][audio_refusals]") {
  const auto refusal = [](const std::string& parameters) {
    return Refusal("spectrogram { " + parameters + " }");
  };
  CHECK(refusal("n_fft: 1") == "n_fft is 1, not 2 to 65536");
  CHECK(refusal("n_fft: 65537") == "n_fft is 65537, not 2 to 65536");
  CHECK(refusal("n_fft: 65521") ==
        "n_fft is 65521, whose prime factor 65521 makes it slow: take a "
        "number of smaller factors");
  CHECK_THAT(refusal("n_fft: 4093"), Catch::Equals(""));
  CHECK(refusal("win_length: 401") == "win_length is 401, not 1 to 400");
  CHECK(refusal("win_length: 1") == "hop_length is 0, not 1 to 16777216");
  CHECK(refusal("hop_length: 4000000000") ==
        "hop_length is 4000000000, not 1 to 16777216");
  CHECK(refusal("pad: 4000000000") == "pad is 4000000000, not 0 to 16777216");
  CHECK(refusal("power: 3") == "power is 3, not 1 to 2");
  CHECK(refusal("window: 9") ==
        "window_fn is 9, which this daemon does not know: it knows "
        "HANN, HAMMING, BLACKMAN, BARTLETT, RECTANGULAR");
  CHECK(refusal("normalized: 9") ==
        "normalized is 9, which this daemon does not know: it knows "
        "NOT, BY_WINDOW, BY_FRAME_LENGTH");
  CHECK(refusal("pad_mode: 2") ==
        "pad_mode is 2, which this daemon does not know: it knows "
        "CONSTANT, REFLECT");
  CHECK(Refusal("spectrogram {}", {.frame_shape = {2, 3}}) ==
        "takes clips of 1 or 2 axes, (frames) or (frames, channels), not "
        "arrays of 3");
}

TEST_CASE("MelSpectrogram refuses parameters out of range",
          "[audio][audio_refusals]") {
  const auto refusal = [](const std::string& parameters) {
    return Refusal("mel_spectrogram { " + parameters + " }");
  };
  CHECK(refusal("spectrogram { n_fft: 1 }") == "n_fft is 1, not 2 to 65536");
  CHECK(refusal("sample_rate: 1") == "sample_rate is 1, not 2 to 16777216");
  CHECK(refusal("sample_rate: 4294967295") ==
        "sample_rate is 4294967295, not 2 to 16777216");
  CHECK(refusal("n_mels: 4097") == "n_mels is 4097, not 1 to 4096");
  CHECK(refusal("f_min: -1") == "f_min is -1, not 0 to 1.67772e+07");
  CHECK(refusal("f_min: nan") == "f_min is nan, not 0 to 1.67772e+07");
  CHECK(refusal("f_min: 9000") == "f_max is 8000, not 9001 to 1.67772e+07");
  CHECK(refusal("f_max: 0") == "f_max is 0, not 1 to 1.67772e+07");
  CHECK(refusal("f_max: inf") == "f_max is inf, not 1 to 1.67772e+07");
  CHECK(refusal("mel_scale: 9") ==
        "mel_scale is 9, which this daemon does not know: it knows "
        "HTK, SLANEY");
}

TEST_CASE(
    "AmplitudeToDB and MFCC and masking ops refuse parameters out of range",
    "[audio][audio_refusals]") {
  CHECK(Refusal("amplitude_to_db { stype: 9 }") ==
        "stype is 9, which this daemon does not know: it knows "
        "POWER, MAGNITUDE");
  CHECK(Refusal("amplitude_to_db { top_db: -1 }") ==
        "top_db is -1, not 0 to 1e+06");
  CHECK(Refusal("amplitude_to_db { top_db: nan }") ==
        "top_db is nan, not 0 to 1e+06");
  CHECK(Refusal("mfcc { n_mfcc: 129 }") == "n_mfcc is 129, not 1 to 128");
  CHECK(Refusal("mfcc { mel { n_mels: 30 } }") == "n_mfcc is 40, not 1 to 30");
  const Input bins{.frame_shape = {5}};
  CHECK(Refusal("time_masking { p: 1.5 }", bins) == "p is 1.5, not 0 to 1");
  CHECK(Refusal("time_masking { p: nan }", bins) == "p is nan, not 0 to 1");
  CHECK(Refusal("time_masking { time_mask_param: 4294967295 }", bins) ==
        "time_mask_param is 4294967295, not 0 to 16777216");
  CHECK(Refusal("frequency_masking { freq_mask_param: 16777217 }", bins) ==
        "freq_mask_param is 16777217, not 0 to 16777216");
}

// Returns the refusal of a clip that takes too long. A thread does nothing else
// meanwhile, and an op cannot be stopped.
std::string TooLong(const std::string& op, const Input& input,
                    std::uint64_t frames) {
  const auto made = MakeOp(Spec("ops { " + op + " }").ops(0), input);
  CHECK_THAT(made, IsOk());
  const Signal clip{.frames = frames, .rate = input.rate};
  // LongestOf() tells what clips may become, and does not refuse the length.
  CHECK_THAT((*made)->LongestOf(clip), IsOk());
  return std::string((*made)->OutputOf(clip).status().message());
}

TEST_CASE("Spectrogram ops refuse clips that mean hours of work",
          "[audio][audio_refusals]") {
  const std::string op = "spectrogram { n_fft: 65536 hop_length: 1 }";
  CHECK_THAT(TooLong(op, {}, 65'000), Catch::Equals(""));
  CHECK(TooLong(op, {.frame_shape = {1024}}, 65'000) ==
        "has 65001 times of 1024 channels, each of n_fft 65536 elements: "
        "take a larger hop_length, fewer channels, or a part of the clip");
  const std::string mel =
      "mel_spectrogram { n_mels: 1 spectrogram { n_fft: 65536 "
      "hop_length: 1 } }";
  CHECK_FALSE(TooLong(mel, {.frame_shape = {1024}}, 65'000).empty());
}

TEST_CASE("Resample refuses clips whose filter means hours of work",
          "[audio][audio_refusals]") {
  const auto made =
      MakeOp(Spec("ops { resample { orig_freq: 2 new_freq: 1 rolloff: 0.005 "
                  "lowpass_filter_width: 1024 } }")
                 .ops(0),
             {.frame_shape = {2}});
  REQUIRE_THAT(made, IsOk());
  const Signal clip{.frames = std::uint64_t{1} << 30, .rate = 2};
  CHECK_THAT((*made)->OutputOf(clip), IsOk());
  transform::Scratch scratch(1 << 20);
  const FrameRange part{.begin = 0, .length = 200'000};
  CHECK((*made)
            ->RunPart(nullptr, clip, part, transform::Drawn(), scratch, nullptr)
            .message() ==
        "becomes 200000 frames of 2 channels, each a sum of 819208 "
        "elements: take a smaller lowpass_filter_width, a greater rolloff, "
        "or a part of the clip");
}

}  // namespace
}  // namespace forebay::pipeline::audio
