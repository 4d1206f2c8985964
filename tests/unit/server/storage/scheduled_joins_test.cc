// Tests of jobs that join a read before the source below has it.
#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "server/storage/scheduled_source.h"
#include "tests/catch/catch.h"
#include "tests/unit/server/storage/fake_root.h"

namespace forebay::storage {
namespace {

// A source that holds all reads, and records the jobs that join them. Used by
// one thread at a time.
class KeepingSource final : public ByteSource {
 public:
  void Read(absl::Span<ReadRequest> requests) override {
    for (ReadRequest& request : requests) kept_.push_back(std::move(request));
  }
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override {
    for (const ReadRequest& request : kept_) {
      if (request.ticket == ticket) joined_.push_back(purpose.job);
    }
  }

  // Answers the oldest read.
  void Answer() {
    const ReadRequest request = std::move(kept_.front());
    kept_.pop_front();
    request.done(ReadResult());
  }
  const std::vector<std::uint64_t>& joined() const { return joined_; }

 private:
  std::deque<ReadRequest> kept_;
  std::vector<std::uint64_t> joined_;
};

TEST_CASE(
    "The source below a scheduled one learns who joined a read that waited",
    "[storage][scheduled_joins]") {
  KeepingSource below;
  ScheduledSource source(&below, {.reads_at_once = 1});
  int answers = 0;
  for (const std::uint64_t ticket : {6, 7}) {
    ReadRequest request;
    request.root = FakeRoot::Make({.uri = "root"});
    request.object = "object";
    request.purpose.job = 1;
    request.ticket = ticket;
    request.done = [&](const auto&) { ++answers; };
    source.Read({&request, 1});
  }
  source.Share(7, {.job = 2});
  CHECK(below.joined().empty());
  below.Answer();
  CHECK(below.joined() == std::vector<std::uint64_t>{2});
  below.Answer();
  CHECK(answers == 2);
}

}  // namespace
}  // namespace forebay::storage
