#include "server/length_scan/length_scan.h"

#include <cstdint>
#include <memory>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "server/executor/thread_pool_executor.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/audio/golden_clips.h"
#include "tests/unit/server/base/ample_budget.h"
#include "tests/unit/server/length_scan/fake_clips.h"
#include "tests/unit/server/storage/noting_source.h"

namespace forebay::length_scan {
namespace {

using tests::Contains;
using tests::HasCode;
using tests::IsOk;

constexpr std::size_t kText = 0;
constexpr std::size_t kClip = 1;

std::vector<ValueSize> All(const absl::StatusOr<ValueSizesParts>& parts) {
  CHECK_THAT(parts, IsOk());
  std::vector<ValueSize> all;
  if (!parts.ok()) return all;
  for (const std::uint64_t item : parts->items) {
    all.push_back({.size = item & ValueSizes::kMostSize,
                   .rate = parts->rates[item >> 44]});
  }
  return all;
}

class LengthScanTest {
 protected:
  absl::StatusOr<ValueSizesParts> Scan(
      const std::shared_ptr<FakeClips>& clips, std::size_t field = kClip,
      base::MemoryBudget* budget = base::AmpleBudget()) {
    source_ = std::make_unique<ClipSource>(clips->object());
    source_->fails = fails_;
    source_->holds = holds_;
    return ScanLengths(
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
  // Tasks may hold a part of this budget until the executor ends.
  base::MemoryBudget small_budget_ = base::MemoryBudget(std::uint64_t{1} << 20);
  executor::ThreadPoolExecutor executor_{2};
};

TEST_CASE_METHOD(LengthScanTest,
                 "Headers tell a length scan how long clips are",
                 "[length_scan][length_scan]") {
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
  CHECK(All(Scan(std::make_shared<FakeClips>(files))) == expected);
  CHECK(source_->bytes < bytes / 3);
  // Here only the sample itself tells where its clip is, so all of its bytes
  // are read.
  CHECK(All(Scan(std::make_shared<FakeClips>(files, true))) == expected);
  CHECK(source_->bytes >= bytes);
}

TEST_CASE_METHOD(LengthScanTest, "The jobs of a length scan pay for its reads",
                 "[length_scan][length_scan]") {
  const auto clips =
      std::make_shared<FakeClips>(std::vector<std::string>{WavFile(5, 8000)});
  ClipSource source(clips->object());
  storage::NotingSource noting(&source);
  storage::PaidSource reads(&noting, 3);
  reads.SetPayers({3, 4});
  const LengthScanDeps deps = {.source = nullptr,
                               .executor = &executor_,
                               .budget = base::AmpleBudget(),
                               .on_changed = [](const dataset::Dataset&) {}};
  All(ScanLengths({.dataset = clips, .field = kClip, .reads = &reads}, deps,
                  {}));
  REQUIRE(noting.noted().size() == 1u);
  CHECK(*noting.noted()[0].purpose.payers == std::vector<std::uint64_t>{3, 4});
}

TEST_CASE_METHOD(LengthScanTest, "A length scan reads small values together",
                 "[length_scan][length_scan]") {
  std::vector<std::string> files;
  for (std::uint32_t i = 0; i < 5000; ++i) files.push_back(WavFile(i, 8000));
  const auto sizes = All(Scan(std::make_shared<FakeClips>(files)));
  REQUIRE(sizes.size() == files.size());
  for (std::uint32_t i = 0; i < sizes.size(); ++i)
    CHECK(sizes[i] == ValueSize{.size = i, .rate = 8000});
  CHECK(source_->reads < 70u);
}

TEST_CASE_METHOD(LengthScanTest, "A length scan measures clips of each format",
                 "[length_scan][length_scan]") {
  std::vector<std::string> files;
  std::vector<ValueSize> expected;
  for (const audio::GoldenClip& clip : audio::GoldenClips()) {
    files.push_back(audio::ClipFile(clip.name));
    expected.push_back({.size = clip.frames, .rate = clip.sample_rate});
  }
  CHECK(All(Scan(std::make_shared<FakeClips>(files))) == expected);
}

TEST_CASE_METHOD(LengthScanTest, "A length scan measures other values in bytes",
                 "[length_scan][length_scan]") {
  const auto sizes =
      All(Scan(std::make_shared<FakeClips>(
                   std::vector<std::string>(7, WavFile(9, 9)), true),
               kText));
  CHECK(sizes == std::vector<ValueSize>(7, {.size = 3}));
}

TEST_CASE_METHOD(LengthScanTest, "A length scan says which sample is damaged",
                 "[length_scan][length_scan]") {
  std::vector<std::string> files(5, WavFile(99, 8000));
  files[3] = "no clip at all";
  const absl::Status status = Scan(std::make_shared<FakeClips>(files)).status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kDataLoss));
  CHECK_THAT(status.message(),
             Contains("sample 3 of clips: all.tar: is not a WAV"));
  CHECK(changed_ == 0);
}

TEST_CASE_METHOD(LengthScanTest,
                 "A length scan says at which sample its source failed",
                 "[length_scan][length_scan]") {
  fails_ = true;
  const absl::Status status =
      Scan(std::make_shared<FakeClips>(
               std::vector<std::string>(3, WavFile(9, 8000))))
          .status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kNotFound));
  CHECK_THAT(status.message(), Contains("sample 0 of clips: all.tar: no"));
  CHECK(changed_ == 1);
}

TEST_CASE_METHOD(LengthScanTest,
                 "A length scan ends at once when it is stopped",
                 "[length_scan][length_scan]") {
  holds_ = true;
  const auto clips = std::make_shared<FakeClips>(
      std::vector<std::string>(3, WavFile(9, 8000)));
  stop_.request_stop();
  CHECK_THAT(Scan(clips), HasCode(absl::StatusCode::kCancelled));
  source_->LetGo();  // the read ends after the scan
}

TEST_CASE_METHOD(
    LengthScanTest,
    "The memory of a length scan is bounded however large the files are",
    "[length_scan][length_scan]") {
  const std::vector<std::string> files(60, WavFile(300'000, 48000));
  CHECK(All(Scan(std::make_shared<FakeClips>(files), kClip, &small_budget_)) ==
        std::vector<ValueSize>(60, {.size = 300'000, .rate = 48000}));
  // A single sample of this kind is too large for the budget.
  const std::vector<std::string> large(2, WavFile(600'000, 48000));
  const absl::Status status =
      Scan(std::make_shared<FakeClips>(large, true), kClip, &small_budget_)
          .status();
  CHECK_THAT(status, HasCode(absl::StatusCode::kResourceExhausted));
}

}  // namespace
}  // namespace forebay::length_scan
