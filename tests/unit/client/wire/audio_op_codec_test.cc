#include "client/wire/audio_op_codec.h"

#include <gtest/gtest.h>

#include "proto/job.pb.h"

namespace forebay::client::wire {
namespace {

proto::PipelineSpec Parse(const PipelineEncoder& encoder) {
  proto::PipelineSpec spec;
  EXPECT_TRUE(spec.ParseFromString(encoder.bytes()));
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
  EXPECT_EQ(op.n_fft(), 512);
  EXPECT_EQ(op.win_length(), 400);
  EXPECT_EQ(op.hop_length(), 160);
  EXPECT_EQ(op.pad(), 7);
  EXPECT_EQ(op.window(), proto::Spectrogram::BARTLETT);
  EXPECT_EQ(op.power(), 1);
  EXPECT_EQ(op.normalized(), proto::Spectrogram::BY_FRAME_LENGTH);
  EXPECT_TRUE(op.center());
  EXPECT_EQ(op.pad_mode(), proto::Spectrogram::REFLECT);
}

void Check(const proto::MelSpectrogram& op) {
  Check(op.spectrogram());
  EXPECT_EQ(op.sample_rate(), 22050);
  EXPECT_EQ(op.n_mels(), 80);
  EXPECT_EQ(op.f_min(), 27.5);
  EXPECT_EQ(op.mel_scale(), proto::MelSpectrogram::SLANEY);
  EXPECT_TRUE(op.norm());
}

TEST(AudioOpCodecTest, ClipsOpsArrive) {
  const double beta = 8.5;
  PipelineEncoder encoder;
  ASSERT_TRUE(AddResample({.orig_freq = 44100,
                           .new_freq = 16000,
                           .method = FOREBAY_SINC_KAISER,
                           .lowpass_filter_width = 16,
                           .rolloff = 0.85,
                           .beta = &beta,
                           .lowest_freq = 8000},
                          &encoder)
                  .ok());
  AddToMono(&encoder);
  ASSERT_TRUE(AddVol(-3, FOREBAY_GAIN_DB, &encoder).ok());

  const proto::PipelineSpec spec = Parse(encoder);
  ASSERT_EQ(spec.ops_size(), 3);
  const proto::Resample& resample = spec.ops(0).resample();
  EXPECT_EQ(resample.orig_freq(), 44100);
  EXPECT_EQ(resample.new_freq(), 16000);
  EXPECT_EQ(resample.method(), proto::Resample::SINC_KAISER);
  EXPECT_EQ(resample.lowpass_filter_width(), 16);
  EXPECT_EQ(resample.rolloff(), 0.85);
  EXPECT_EQ(resample.beta(), 8.5);
  EXPECT_EQ(resample.lowest_freq(), 8000);
  EXPECT_TRUE(spec.ops(1).has_to_mono());
  EXPECT_EQ(spec.ops(2).vol().gain(), -3);
  EXPECT_EQ(spec.ops(2).vol().gain_type(), proto::Vol::DB);
}

TEST(AudioOpCodecTest, SpectrogramsArrive) {
  const double f_max = 7600;
  const double top_db = 80;
  PipelineEncoder encoder;
  ASSERT_TRUE(AddSpectrogram(kSpectrogram, &encoder).ok());
  ASSERT_TRUE(AddMelSpectrogram(MelOf(&f_max), &encoder).ok());
  ASSERT_TRUE(AddMfcc(MelOf(nullptr), 13, false, true, &encoder).ok());
  ASSERT_TRUE(AddAmplitudeToDb(FOREBAY_MAGNITUDE, &top_db, &encoder).ok());
  ASSERT_TRUE(AddAmplitudeToDb(FOREBAY_POWER, nullptr, &encoder).ok());
  AddTimeMasking(30, 0.5, &encoder);
  AddFrequencyMasking(12, &encoder);

  const proto::PipelineSpec spec = Parse(encoder);
  ASSERT_EQ(spec.ops_size(), 7);
  Check(spec.ops(0).spectrogram());
  Check(spec.ops(1).mel_spectrogram());
  EXPECT_EQ(spec.ops(1).mel_spectrogram().f_max(), 7600);
  const proto::Mfcc& mfcc = spec.ops(2).mfcc();
  Check(mfcc.mel());
  EXPECT_FALSE(mfcc.mel().has_f_max());
  EXPECT_EQ(mfcc.n_mfcc(), 13);
  EXPECT_TRUE(mfcc.has_ortho());
  EXPECT_FALSE(mfcc.ortho());
  EXPECT_TRUE(mfcc.log_mels());
  EXPECT_EQ(spec.ops(3).amplitude_to_db().stype(),
            proto::AmplitudeToDB::MAGNITUDE);
  EXPECT_EQ(spec.ops(3).amplitude_to_db().top_db(), 80);
  EXPECT_FALSE(spec.ops(4).amplitude_to_db().has_top_db());
  EXPECT_EQ(spec.ops(5).time_masking().time_mask_param(), 30);
  EXPECT_EQ(spec.ops(5).time_masking().p(), 0.5);
  EXPECT_EQ(spec.ops(6).frequency_masking().freq_mask_param(), 12);
}

TEST(AudioOpCodecTest, RefusesWhatItCannotWrite) {
  PipelineEncoder encoder;
  forebay_spectrogram spectrogram = kSpectrogram;
  spectrogram.window = static_cast<forebay_fft_window>(0);
  EXPECT_EQ(AddSpectrogram(spectrogram, &encoder).code,
            FOREBAY_INVALID_ARGUMENT);
  spectrogram = kSpectrogram;
  spectrogram.normalized = static_cast<forebay_normalized>(4);
  EXPECT_EQ(AddSpectrogram(spectrogram, &encoder).code,
            FOREBAY_INVALID_ARGUMENT);
  spectrogram = kSpectrogram;
  spectrogram.pad_mode = static_cast<forebay_padding_mode>(0);
  EXPECT_EQ(AddSpectrogram(spectrogram, &encoder).code,
            FOREBAY_INVALID_ARGUMENT);
  forebay_mel_spectrogram mel = MelOf(nullptr);
  mel.mel_scale = static_cast<forebay_mel_scale>(3);
  EXPECT_EQ(AddMelSpectrogram(mel, &encoder).code, FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(AddMfcc(mel, 1, true, true, &encoder).code,
            FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(AddResample({}, &encoder).code, FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(AddVol(1, static_cast<forebay_gain_type>(0), &encoder).code,
            FOREBAY_INVALID_ARGUMENT);
  EXPECT_EQ(AddAmplitudeToDb(static_cast<forebay_amplitude_scale>(3), nullptr,
                             &encoder)
                .code,
            FOREBAY_INVALID_ARGUMENT);
  EXPECT_TRUE(encoder.bytes().empty());
}

}  // namespace
}  // namespace forebay::client::wire
