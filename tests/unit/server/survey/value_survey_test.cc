#include "server/survey/value_survey.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "server/executor/thread_pool_executor.h"
#include "tests/unit/server/audio/golden_clips.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/storage/noting_source.h"
#include "tests/unit/server/survey/fake_clips.h"

namespace forebay::survey {
namespace {

using testing::HasSubstr;

constexpr std::size_t kText = 0;
constexpr std::size_t kClip = 1;

std::vector<ValueSize> All(const absl::StatusOr<ValueSizesParts>& parts) {
  EXPECT_TRUE(parts.ok()) << parts.status();
  std::vector<ValueSize> all;
  if (!parts.ok()) return all;
  for (const std::uint64_t item : parts->items) {
    all.push_back({.size = item & ValueSizes::kMostSize,
                   .rate = parts->rates[item >> 44]});
  }
  return all;
}

class ValueSurveyTest : public testing::Test {
 protected:
  absl::StatusOr<ValueSizesParts> Survey(
      const std::shared_ptr<FakeClips>& clips, std::size_t field = kClip,
      base::MemoryBudget* budget = base::AmpleBudget()) {
    source_ = std::make_unique<ClipSource>(clips->object());
    source_->fails = fails_;
    source_->holds = holds_;
    return SurveyValues(
        {.dataset = clips, .field = field, .job = 1},
        {.source = source_.get(),
         .executor = &executor_,
         .budget = budget,
         .on_changed = [this](const dataset::Dataset&) { ++changed_; }},
        stop_.get_token());
  }

  bool fails_ = false;
  bool holds_ = false;
  int changed_ = 0;
  std::stop_source stop_;
  std::unique_ptr<ClipSource> source_;
  executor::ThreadPoolExecutor executor_{2};
};

TEST_F(ValueSurveyTest, HeadersSayHowLongClipsAre) {
  std::mt19937_64 random(5);
  std::vector<std::string> files;
  std::vector<ValueSize> expected;
  std::uint64_t bytes = 0;
  for (int i = 0; i < 40; ++i) {
    const auto frames = static_cast<std::uint32_t>(random() % 400'000);
    const std::uint32_t rate = i % 3 == 0 ? 44100 : 16000;
    files.push_back(WavFile(frames, rate));
    expected.push_back({.size = frames, .rate = rate});
    bytes += files.back().size();
  }
  EXPECT_EQ(All(Survey(std::make_shared<FakeClips>(files))), expected);
  EXPECT_LT(source_->bytes, bytes / 3);
  // Where only the sample itself tells where its clip is, all is read.
  EXPECT_EQ(All(Survey(std::make_shared<FakeClips>(files, true))), expected);
  EXPECT_GE(source_->bytes, bytes);
}

TEST_F(ValueSurveyTest, ItsJobsPayForItsReads) {
  const auto clips =
      std::make_shared<FakeClips>(std::vector<std::string>{WavFile(5, 8000)});
  ClipSource source(clips->object());
  storage::NotingSource noting(&source);
  storage::PaidSource reads(&noting, 3);
  reads.SetPayers({3, 4});
  const SurveyDeps deps = {.source = nullptr,
                           .executor = &executor_,
                           .budget = base::AmpleBudget(),
                           .on_changed = [](const dataset::Dataset&) {}};
  All(SurveyValues({.dataset = clips, .field = kClip, .reads = &reads}, deps,
                   {}));
  ASSERT_EQ(noting.noted().size(), 1u);
  EXPECT_EQ(*noting.noted()[0].purpose.payers,
            (std::vector<std::uint64_t>{3, 4}));
}

TEST_F(ValueSurveyTest, SmallOnesAreReadTogether) {
  std::vector<std::string> files;
  for (std::uint32_t i = 0; i < 5000; ++i) files.push_back(WavFile(i, 8000));
  const auto sizes = All(Survey(std::make_shared<FakeClips>(files)));
  ASSERT_EQ(sizes.size(), files.size());
  for (std::uint32_t i = 0; i < sizes.size(); ++i)
    EXPECT_EQ(sizes[i], (ValueSize{.size = i, .rate = 8000}));
  EXPECT_LT(source_->reads, 70u);
}

TEST_F(ValueSurveyTest, ClipsOfEachFormatAreMeasured) {
  std::vector<std::string> files;
  std::vector<ValueSize> expected;
  for (const audio::GoldenClip& clip : audio::GoldenClips()) {
    files.push_back(audio::ClipFile(clip.name));
    expected.push_back({.size = clip.frames, .rate = clip.sample_rate});
  }
  EXPECT_EQ(All(Survey(std::make_shared<FakeClips>(files))), expected);
}

TEST_F(ValueSurveyTest, OtherValuesHaveBytes) {
  const auto sizes =
      All(Survey(std::make_shared<FakeClips>(
                     std::vector<std::string>(7, WavFile(9, 9)), true),
                 kText));
  EXPECT_EQ(sizes, std::vector<ValueSize>(7, {.size = 3}));
}

TEST_F(ValueSurveyTest, DamageIsOfASample) {
  std::vector<std::string> files(5, WavFile(99, 8000));
  files[3] = "no clip at all";
  const absl::Status status =
      Survey(std::make_shared<FakeClips>(files)).status();
  EXPECT_TRUE(absl::IsDataLoss(status)) << status;
  EXPECT_THAT(status.message(),
              HasSubstr("sample 3 of clips: all.tar: is no WAV"));
  EXPECT_EQ(changed_, 0);
}

TEST_F(ValueSurveyTest, TheSourceMayFail) {
  fails_ = true;
  const absl::Status status =
      Survey(std::make_shared<FakeClips>(
                 std::vector<std::string>(3, WavFile(9, 8000))))
          .status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("sample 0 of clips: all.tar: no"));
  EXPECT_EQ(changed_, 1);
}

TEST_F(ValueSurveyTest, ItEndsAtOnceWhenItIsStopped) {
  holds_ = true;
  const auto clips = std::make_shared<FakeClips>(
      std::vector<std::string>(3, WavFile(9, 8000)));
  stop_.request_stop();
  EXPECT_TRUE(absl::IsCancelled(Survey(clips).status()));
  source_->LetGo();  // after it
}

TEST_F(ValueSurveyTest, MemoryIsBoundedHoweverLargeTheFilesAre) {
  const std::vector<std::string> files(60, WavFile(300'000, 48000));
  base::MemoryBudget budget(std::uint64_t{1} << 20);
  EXPECT_EQ(All(Survey(std::make_shared<FakeClips>(files), kClip, &budget)),
            std::vector<ValueSize>(60, {.size = 300'000, .rate = 48000}));
  // A sample alone is too large for it.
  const std::vector<std::string> large(2, WavFile(600'000, 48000));
  const absl::Status status =
      Survey(std::make_shared<FakeClips>(large, true), kClip, &budget).status();
  EXPECT_TRUE(absl::IsResourceExhausted(status)) << status;
}

}  // namespace
}  // namespace forebay::survey
