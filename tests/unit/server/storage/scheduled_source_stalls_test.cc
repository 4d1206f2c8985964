// Tests of stalled reads of a scheduled source.

#include <thread>

#include "server/storage/scheduled_source.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/storage/scheduled_source_fixture.h"

namespace forebay::storage {
namespace {

TEST_CASE_METHOD(ScheduledSourceTest,
                 "A read that is not answered gives its place to others",
                 "[storage][scheduled_source_stalls]") {
  Make({.reads_at_once = 2, .clock = &clock_});
  for (int i = 0; i < 2; ++i) Read(1);
  Read(2);
  CHECK(below_.asked() == 2);
  CHECK(source_->State().stalled == 0);
  clock_.Advance(schedule::StallThreshold::kUnknownNanos);
  Read(2);
  CHECK(below_.asked() == 4);
  const SourceState state = source_->State();
  CHECK(state.stalled == 2);
  CHECK(state.in_flight == 2);
  CHECK(state.waiting == 0);
  below_.AnswerAll();
  CHECK(good_ == 4);
  CHECK(source_->State().stalled == 0);
  CHECK(source_->State().in_flight == 0);
}

TEST_CASE_METHOD(
    ScheduledSourceTest,
    "Bytes of stalled reads no longer count against a scheduled source's limit",
    "[storage][scheduled_source_stalls]") {
  Make({.bytes_at_once = kBytes, .clock = &clock_});
  Read(1);
  Read(2);
  CHECK(below_.asked() == 1);
  clock_.Advance(schedule::StallThreshold::kUnknownNanos);
  Read(2);
  UNSCOPED_INFO("the third waits for the second");
  CHECK(below_.asked() == 2);
  below_.AnswerAll();
  CHECK(good_ == 3);
}

TEST_CASE_METHOD(ScheduledSourceTest,
                 "Other jobs pass a job with too many stalled reads",
                 "[storage][scheduled_source_stalls]") {
  Make({.reads_at_once = 2, .most_stalled = 2, .clock = &clock_});
  for (int i = 0; i < 6; ++i) Read(1);
  clock_.Advance(schedule::StallThreshold::kUnknownNanos);
  for (int i = 0; i < 3; ++i) Read(2);
  // Two reads of job 1 are stalled, so the places go to job 2.
  CHECK(below_.asked() == 4);
  CHECK(source_->State().waiting == 5);
  CHECK(below_.Answer() == 1);
  CHECK(below_.Answer() == 1);
  CHECK(below_.Answer() == 2);
  below_.AnswerAll();
  CHECK(good_ == 9);
}

TEST_CASE_METHOD(
    ScheduledSourceTest,
    "A scheduled source notices a stall while nothing else happens",
    "[storage][scheduled_source_stalls]") {
  ScheduledSource source(&below_, {.reads_at_once = 1});
  ReadRequest requests[] = {Request(1), Request(2)};
  source.Read(absl::MakeSpan(requests));
  while (below_.asked() < 2) std::this_thread::yield();
  CHECK(source.State().stalled == 1);
  below_.AnswerAll();
  CHECK(good_ == 2);
}

TEST_CASE_METHOD(ScheduledSourceTest,
                 "Reads of a slow source do not count as stalled",
                 "[storage][scheduled_source_stalls]") {
  Make({.reads_at_once = 1, .clock = &clock_});
  for (int i = 0; i < 32; ++i) {
    Read(1);
    clock_.Advance(900'000'000);
    below_.AnswerAll();
  }
  Read(1);
  Read(1);
  clock_.Advance(8'000'000'000);
  Read(1);
  CHECK(below_.asked() == 1);
  below_.AnswerAll();
}

}  // namespace
}  // namespace forebay::storage
