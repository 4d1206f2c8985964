// Arguments of the transforms in a pipeline.

#include <cmath>
#include <functional>

#include "tests/catch/catch.h"
#include "tests/integration/cpp/reading.h"

namespace cpp_user {
namespace {

TEST_CASE("Unknown numbers of enums in transforms are refused",
          "[cpp][pipeline]") {
  const forebay::Pipeline owned;
  forebay_pipeline* const pipeline = owned.get();
  for (const int number : {-1, 0, 77}) {
    CAPTURE(number);
    const auto interpolation = static_cast<forebay_interpolation>(number);
    const auto mode = static_cast<forebay_padding_mode>(number);
    const forebay_padding padding = {1, 1, 1, 1, nullptr, 0, mode};
    forebay_resampling resampling = {};
    resampling.method = static_cast<forebay_resampling_method>(number);
    const forebay_spectrogram good = {16,
                                      16,
                                      8,
                                      0,
                                      FOREBAY_HANN,
                                      2,
                                      FOREBAY_NOT_NORMALIZED,
                                      1,
                                      FOREBAY_PAD_REFLECT};
    forebay_spectrogram window = good;
    window.window = static_cast<forebay_fft_window>(number);
    forebay_spectrogram normalized = good;
    normalized.normalized = static_cast<forebay_normalized>(number);
    forebay_spectrogram pad_mode = good;
    pad_mode.pad_mode = mode;
    forebay_mel_spectrogram mel = {
        good, 16000, 8, 0, nullptr, static_cast<forebay_mel_scale>(number), 0};
    const forebay_status all[] = {
        forebay_pipeline_add_resize(pipeline, 1, 1, 0, interpolation),
        forebay_pipeline_add_random_resized_crop(pipeline, 1, 1, {0.5, 1},
                                                 {1, 1}, interpolation),
        forebay_pipeline_add_pad(pipeline, &padding),
        forebay_pipeline_add_random_crop(pipeline, 1, 1, &padding, 0),
        forebay_pipeline_add_to_dtype(pipeline,
                                      static_cast<forebay_dtype>(number), 0),
        forebay_pipeline_add_to_image(pipeline,
                                      static_cast<forebay_layout>(number)),
        forebay_pipeline_add_resample(pipeline, &resampling),
        forebay_pipeline_add_vol(pipeline, 1,
                                 static_cast<forebay_gain_type>(number)),
        forebay_pipeline_add_spectrogram(pipeline, &window),
        forebay_pipeline_add_spectrogram(pipeline, &normalized),
        forebay_pipeline_add_spectrogram(pipeline, &pad_mode),
        forebay_pipeline_add_mel_spectrogram(pipeline, &mel),
        forebay_pipeline_add_mfcc(pipeline, &mel, 4, 1, 0),
        forebay_pipeline_add_amplitude_to_db(
            pipeline, static_cast<forebay_amplitude_scale>(number), nullptr),
    };
    for (const forebay_status& status : all) {
      CAPTURE(&status - all);
      CHECK(status == FOREBAY_INVALID_ARGUMENT);
    }
  }
}

TEST_CASE(
    "A transform whose numbers make no sense is named when a loader opens",
    "[cpp][pipeline]") {
  const Daemon daemon;
  const Pictures pictures;
  const double zero = 0;
  const double one = 1;
  const double three[] = {1, 2, 3};
  const double nan = std::nan("");
  const forebay_range wide = {-0.6, 0.6};
  const forebay_range backwards = {2, 1};
  const forebay_padding large = {
      70000, 0, 0, 0, nullptr, 0, FOREBAY_PAD_CONSTANT};
  const forebay_padding odd = {1, 1, 1, 1, three, 2, FOREBAY_PAD_CONSTANT};
  using Handle = forebay_pipeline*;
  const std::pair<const char*, std::function<forebay_status(Handle)>> all[] = {
      {"Resize",
       [](Handle p) {
         return forebay_pipeline_add_resize(p, 0, 4, 0, FOREBAY_BILINEAR);
       }},
      {"Resize",
       [](Handle p) {
         return forebay_pipeline_add_resize(p, 65536, 4, 0, FOREBAY_BILINEAR);
       }},
      {"CenterCrop",
       [](Handle p) { return forebay_pipeline_add_center_crop(p, 4, 65536); }},
      {"RandomResizedCrop",
       [&](Handle p) {
         return forebay_pipeline_add_random_resized_crop(
             p, 4, 4, {0, 1}, {1, 1}, FOREBAY_BILINEAR);
       }},
      {"RandomResizedCrop",
       [&](Handle p) {
         return forebay_pipeline_add_random_resized_crop(
             p, 4, 4, {0.5, 1}, backwards, FOREBAY_BILINEAR);
       }},
      {"Flip",
       [](Handle p) {
         return forebay_pipeline_add_random_horizontal_flip(p, 1.5);
       }},
      {"Flip",
       [&](Handle p) {
         return forebay_pipeline_add_random_vertical_flip(p, nan);
       }},
      {"ColorJitter",
       [&](Handle p) {
         return forebay_pipeline_add_color_jitter(p, nullptr, nullptr, nullptr,
                                                  &wide);
       }},
      {"ColorJitter",
       [&](Handle p) {
         return forebay_pipeline_add_color_jitter(p, &backwards, nullptr,
                                                  nullptr, nullptr);
       }},
      {"Grayscale",
       [](Handle p) { return forebay_pipeline_add_grayscale(p, 2); }},
      {"Pad", [&](Handle p) { return forebay_pipeline_add_pad(p, &large); }},
      {"Pad", [&](Handle p) { return forebay_pipeline_add_pad(p, &odd); }},
      {"Normalize",
       [&](Handle p) {
         return forebay_pipeline_add_normalize(p, &one, 1, &zero, 1);
       }},
  };
  for (const auto& [name, add] : all) {
    CAPTURE(name);
    const forebay::Pipeline pipeline = WholePictures();
    Failure failure = FailureOf([&] { forebay::Check(add(pipeline.get())); });
    if (failure.status == FOREBAY_OK)
      failure = OpeningOf(OptionsFor(daemon, pictures), pipeline);
    CHECK(failure.status == FOREBAY_INVALID_ARGUMENT);
    CHECK_THAT(failure.text, Catch::Contains(name));
  }
}

}  // namespace
}  // namespace cpp_user
