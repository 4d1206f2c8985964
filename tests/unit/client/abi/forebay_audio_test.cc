#include "client/abi/handles.h"
#include "client/forebay.h"
#include "proto/job.pb.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::client::abi {
namespace {

proto::PipelineSpec Parse(const forebay_pipeline& pipeline) {
  proto::PipelineSpec spec;
  CHECK(spec.ParseFromString(message::Serialize(pipeline.spec)));
  return spec;
}

constexpr forebay_spectrogram kSpectrogram = {
    .n_fft = 512,
    .win_length = 400,
    .hop_length = 160,
    .pad = 7,
    .window = FOREBAY_BARTLETT,
    .power = 1,
    .normalized = FOREBAY_BY_FRAME_LENGTH,
    .center = 1,
    .pad_mode = FOREBAY_PAD_REFLECT};

forebay_mel_spectrogram MelOf(const double* f_max) {
  return {.spectrogram = kSpectrogram,
          .sample_rate = 22050,
          .n_mels = 80,
          .f_min = 27.5,
          .f_max = f_max,
          .mel_scale = FOREBAY_MEL_SLANEY,
          .norm = 1};
}

void Check(const proto::Spectrogram& op) {
  CHECK(op.n_fft() == 512);
  CHECK(op.win_length() == 400);
  CHECK(op.hop_length() == 160);
  CHECK(op.pad() == 7);
  CHECK(op.window() == proto::Spectrogram::BARTLETT);
  CHECK(op.power() == 1);
  CHECK(op.normalized() == proto::Spectrogram::BY_FRAME_LENGTH);
  CHECK(op.center());
  CHECK(op.pad_mode() == proto::Spectrogram::REFLECT);
}

void Check(const proto::MelSpectrogram& op) {
  Check(op.spectrogram());
  CHECK(op.sample_rate() == 22050);
  CHECK(op.n_mels() == 80);
  CHECK(op.f_min() == 27.5);
  CHECK(op.mel_scale() == proto::MelSpectrogram::SLANEY);
  CHECK(op.norm());
}

TEST_CASE("A clip's ops arrive as the client encodes them",
          "[abi][forebay_audio]") {
  const double beta = 8.5;
  forebay_pipeline pipeline;
  const forebay_resampling resampling = {.orig_freq = 44100,
                                         .new_freq = 16000,
                                         .method = FOREBAY_SINC_KAISER,
                                         .lowpass_filter_width = 16,
                                         .rolloff = 0.85,
                                         .beta = &beta,
                                         .lowest_freq = 8000};
  REQUIRE(forebay_pipeline_add_resample(&pipeline, &resampling) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_to_mono(&pipeline) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_vol(&pipeline, -3, FOREBAY_GAIN_DB) ==
          FOREBAY_OK);

  const proto::PipelineSpec spec = Parse(pipeline);
  REQUIRE(spec.ops_size() == 3);
  const proto::Resample& resample = spec.ops(0).resample();
  CHECK(resample.orig_freq() == 44100);
  CHECK(resample.new_freq() == 16000);
  CHECK(resample.method() == proto::Resample::SINC_KAISER);
  CHECK(resample.lowpass_filter_width() == 16);
  CHECK(resample.rolloff() == 0.85);
  CHECK(resample.beta() == 8.5);
  CHECK(resample.lowest_freq() == 8000);
  CHECK(spec.ops(1).has_to_mono());
  CHECK(spec.ops(2).vol().gain() == -3);
  CHECK(spec.ops(2).vol().gain_type() == proto::Vol::DB);
}

TEST_CASE("Spectrogram ops arrive as the client encodes them",
          "[abi][forebay_audio]") {
  const double f_max = 7600;
  const double top_db = 80;
  forebay_pipeline pipeline;
  REQUIRE(forebay_pipeline_add_spectrogram(&pipeline, &kSpectrogram) ==
          FOREBAY_OK);
  const forebay_mel_spectrogram bounded = MelOf(&f_max);
  const forebay_mel_spectrogram unbounded = MelOf(nullptr);
  REQUIRE(forebay_pipeline_add_mel_spectrogram(&pipeline, &bounded) ==
          FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_mfcc(&pipeline, &unbounded, 13, false, true) ==
          FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_amplitude_to_db(&pipeline, FOREBAY_MAGNITUDE,
                                               &top_db) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_amplitude_to_db(&pipeline, FOREBAY_POWER,
                                               nullptr) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_time_masking(&pipeline, 30, 0.5) == FOREBAY_OK);
  REQUIRE(forebay_pipeline_add_frequency_masking(&pipeline, 12) == FOREBAY_OK);

  const proto::PipelineSpec spec = Parse(pipeline);
  REQUIRE(spec.ops_size() == 7);
  Check(spec.ops(0).spectrogram());
  Check(spec.ops(1).mel_spectrogram());
  CHECK(spec.ops(1).mel_spectrogram().f_max() == 7600);
  const proto::Mfcc& mfcc = spec.ops(2).mfcc();
  Check(mfcc.mel());
  CHECK_FALSE(mfcc.mel().has_f_max());
  CHECK(mfcc.n_mfcc() == 13);
  CHECK(mfcc.has_ortho());
  CHECK_FALSE(mfcc.ortho());
  CHECK(mfcc.log_mels());
  CHECK(spec.ops(3).amplitude_to_db().stype() ==
        proto::AmplitudeToDB::MAGNITUDE);
  CHECK(spec.ops(3).amplitude_to_db().top_db() == 80);
  CHECK_FALSE(spec.ops(4).amplitude_to_db().has_top_db());
  CHECK(spec.ops(5).time_masking().time_mask_param() == 30);
  CHECK(spec.ops(5).time_masking().p() == 0.5);
  CHECK(spec.ops(6).frequency_masking().freq_mask_param() == 12);
}

TEST_CASE(
    "The functions for ops of audio refuse unknown enums and null pointers",
    "[abi][forebay_audio]") {
  forebay_pipeline pipeline;
  forebay_spectrogram spectrogram = kSpectrogram;
  spectrogram.window = static_cast<forebay_fft_window>(0);
  CHECK(forebay_pipeline_add_spectrogram(&pipeline, &spectrogram) ==
        FOREBAY_INVALID_ARGUMENT);
  spectrogram = kSpectrogram;
  spectrogram.normalized = static_cast<forebay_normalized>(4);
  CHECK(forebay_pipeline_add_spectrogram(&pipeline, &spectrogram) ==
        FOREBAY_INVALID_ARGUMENT);
  spectrogram = kSpectrogram;
  spectrogram.pad_mode = static_cast<forebay_padding_mode>(0);
  CHECK(forebay_pipeline_add_spectrogram(&pipeline, &spectrogram) ==
        FOREBAY_INVALID_ARGUMENT);
  forebay_mel_spectrogram mel = MelOf(nullptr);
  mel.mel_scale = static_cast<forebay_mel_scale>(3);
  CHECK(forebay_pipeline_add_mel_spectrogram(&pipeline, &mel) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_mfcc(&pipeline, &mel, 1, true, true) ==
        FOREBAY_INVALID_ARGUMENT);
  const forebay_resampling resampling = {};
  CHECK(forebay_pipeline_add_resample(&pipeline, &resampling) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_resample(&pipeline, nullptr) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_vol(&pipeline, 1,
                                 static_cast<forebay_gain_type>(0)) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(forebay_pipeline_add_amplitude_to_db(
            &pipeline, static_cast<forebay_amplitude_scale>(3), nullptr) ==
        FOREBAY_INVALID_ARGUMENT);
  CHECK(pipeline.spec.ops.empty());
}

}  // namespace
}  // namespace forebay::client::abi
