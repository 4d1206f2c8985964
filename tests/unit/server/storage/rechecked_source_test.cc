#include "server/storage/rechecked_source.h"

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/conformance/storage/read_text.h"

namespace forebay::storage {
namespace {

using tests::HasCode;

constexpr Revision kFirst = {.inode = 1, .ctime_nanos = 1};
constexpr Revision kTouched = {.inode = 1, .ctime_nanos = 2};
constexpr Revision kTouchedAgain = {.inode = 1, .ctime_nanos = 3};

// A layout whose answers the test sets.
class ScriptedLayout final : public ObjectLayout {
 public:
  void Revalidate(
      const ReadRequest& read, ByteSource&,
      std::function<void(absl::StatusOr<Revision>)> done) const override {
    ++looks;
    if (on_look) on_look();
    CHECK(read.object == "a");
    done(answer);
  }
  std::function<void()> on_look;
  absl::StatusOr<Revision> answer = kTouched;
  mutable int looks = 0;
};

void RunAtOnce(const ReadPurpose&, std::int64_t,
               const std::function<void()>& task) {
  task();
}

class RecheckedSourceTest {
 protected:
  RecheckedSourceTest() {
    version_ = memory_.Put("a", "content");
    memory_.Rewrite("a", "content", kFirst);
    version_.revision = kFirst;
  }

  absl::StatusOr<std::string> Read(bool with_layout = true) {
    ReadRequest request;
    request.root = memory_.root();
    request.object = "a";
    request.version = version_;
    request.length = version_.size;
    if (with_layout) request.layout = layout_;
    return ReadText(source_, std::move(request), &seen_);
  }

  MemorySource memory_;
  RecheckedSource source_{&memory_, RunAtOnce};
  ObjectVersion version_;
  const std::shared_ptr<ScriptedLayout> layout_ =
      std::make_shared<ScriptedLayout>();
  Revision seen_;
};

TEST_CASE_METHOD(RecheckedSourceTest,
                 "A rechecked source does not look at a file that is as it was",
                 "[storage][rechecked_source]") {
  CHECK(*Read() == "content");
  CHECK(seen_ == kFirst);
  CHECK(layout_->looks == 0);
}

TEST_CASE_METHOD(
    RecheckedSourceTest,
    "A rechecked source looks at a file that was touched and reads it",
    "[storage][rechecked_source]") {
  memory_.Rewrite("a", "CONTENT", kTouched);
  CHECK(*Read() == "CONTENT");
  CHECK(seen_ == kTouched);
  CHECK(layout_->looks == 1);
}

TEST_CASE_METHOD(
    RecheckedSourceTest,
    "A rechecked source looks again at a file that is touched again",
    "[storage][rechecked_source]") {
  memory_.Rewrite("a", "CONTENT", kTouched);
  layout_->on_look = [this] {
    if (layout_->looks == 1) memory_.Rewrite("a", "another", kTouchedAgain);
    if (layout_->looks == 2) layout_->answer = kTouchedAgain;
  };
  CHECK(*Read() == "another");
  CHECK(layout_->looks == 2);
}

TEST_CASE_METHOD(
    RecheckedSourceTest,
    "A rechecked source fails on a file that is changed again and again",
    "[storage][rechecked_source]") {
  memory_.Rewrite("a", "CONTENT", kTouchedAgain);
  CHECK(Read().status() ==
        absl::FailedPreconditionError("a: is changed again and again"));
}

TEST_CASE_METHOD(RecheckedSourceTest,
                 "Errors of the look at a touched file are the read's errors",
                 "[storage][rechecked_source]") {
  memory_.Rewrite("a", "CONTENT", kTouched);
  layout_->answer = absl::FailedPreconditionError("a: was rewritten");
  CHECK(Read().status() == absl::FailedPreconditionError("a: was rewritten"));
}

TEST_CASE_METHOD(RecheckedSourceTest,
                 "A rechecked source looks at nothing without a layout",
                 "[storage][rechecked_source]") {
  memory_.Rewrite("a", "CONTENT", kTouched);
  CHECK_THAT(Read(/*with_layout=*/false), HasCode(absl::StatusCode::kAborted));
  memory_.Rewrite("a", "CONTENT", {.inode = 2, .ctime_nanos = 1});
  CHECK_THAT(Read(), HasCode(absl::StatusCode::kFailedPrecondition));
  CHECK(layout_->looks == 0);
}

// A source that logs its calls. The test ends its reads one by one.
class HeldSource final : public ByteSource {
 public:
  void Read(absl::Span<ReadRequest> requests) override {
    for (ReadRequest& request : requests) {
      log_ += absl::StrCat("read ", request.ticket, " for ",
                           request.purpose.job, "; ");
      held_.push_back(std::move(request));
    }
  }
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override {
    log_ += absl::StrCat("share ", ticket, " with ", purpose.job, "; ");
  }
  // Ends the oldest read.
  void End(absl::StatusOr<ReadResult> result) {
    const ReadRequest request = std::move(held_.front());
    held_.pop_front();
    request.done(std::move(result));
  }
  // Returns the calls since the last Log().
  std::string Log() { return std::exchange(log_, {}); }

 private:
  std::deque<ReadRequest> held_;
  std::string log_;
};

// A layout that needs two reads to check a file.
class SlowLayout final : public ObjectLayout {
 public:
  void Revalidate(
      const ReadRequest& read, ByteSource& source,
      std::function<void(absl::StatusOr<Revision>)> done) const override {
    ReadRequest look;
    look.object = read.object;
    look.purpose = read.purpose;
    look.ticket = read.ticket;
    ReadRequest next = look;
    next.done = [done](const absl::StatusOr<ReadResult>& result) {
      result.ok() ? done(kTouched) : done(result.status());
    };
    look.done = [&source, next](const absl::StatusOr<ReadResult>&) mutable {
      source.Read({&next, 1});
    };
    source.Read({&look, 1});
  }
};

class RecheckedSharesTest {
 protected:
  void Read(std::uint64_t ticket, std::uint64_t job) {
    ReadRequest request;
    request.object = "a";
    request.version.revision = kFirst;
    request.layout = layout_;
    request.purpose.job = job;
    request.ticket = ticket;
    request.done = [this, ticket](const absl::StatusOr<ReadResult>& result) {
      log_ += absl::StrCat(
          ticket, ": ", absl::StatusCodeToString(result.status().code()), "; ");
    };
    source_.Read({&request, 1});
  }
  void Touch() { below_.End(absl::AbortedError("a: was touched")); }

  HeldSource below_;
  std::deque<std::function<void()>> tasks_;
  bool is_held_ = false;  // whether tasks wait until the test runs them
  RecheckedSource source_{&below_, [this](const ReadPurpose&, std::int64_t,
                                          std::function<void()> task) {
                            if (!is_held_) return task();
                            tasks_.push_back(std::move(task));
                          }};
  const std::shared_ptr<const ObjectLayout> layout_ =
      std::make_shared<SlowLayout>();
  std::string log_;
};

// To check a file, much may have to be parsed, which must be done in a task.
TEST_CASE_METHOD(RecheckedSharesTest, "Looks at touched files go on in tasks",
                 "[storage][rechecked_source]") {
  is_held_ = true;
  Read(7, /*job=*/1);
  Touch();
  CHECK(below_.Log() == "read 7 for 1; read 7 for 1; share 7 with 1; ");
  below_.End(ReadResult());
  CHECK_THAT(below_.Log(), Catch::Equals(""));
  REQUIRE(tasks_.size() == 1u);
  tasks_.front()();
  CHECK(below_.Log() == "read 7 for 1; share 7 with 1; ");
  below_.End(ReadResult());
  // The daemon ends without running its tasks.
  tasks_.clear();
  CHECK(log_ == "7: CANCELLED; ");
}

TEST_CASE_METHOD(
    RecheckedSharesTest,
    "A job that joined a rechecked read has joined what is read again",
    "[storage][rechecked_source]") {
  Read(7, /*job=*/1);
  source_.Share(7, {.job = 2});
  CHECK(below_.Log() == "read 7 for 1; share 7 with 2; ");
  Touch();
  CHECK(below_.Log() == "read 7 for 1; share 7 with 1; share 7 with 2; ");
  source_.Share(7, {.job = 3});
  CHECK(below_.Log() == "share 7 with 3; ");
  below_.End(ReadResult());
  CHECK(below_.Log() ==
        "read 7 for 1; share 7 with 1; share 7 with 2; share 7 with 3; ");
  below_.End(ReadResult());
  CHECK(below_.Log() == "read 7 for 1; share 7 with 2; share 7 with 3; ");
  source_.Share(7, {.job = 4});
  CHECK(below_.Log() == "share 7 with 4; ");
  CHECK_THAT(log_, Catch::Equals(""));
  below_.End(ReadResult());
  CHECK(log_ == "7: OK; ");
  // Another read may now reuse the ticket.
  Read(7, /*job=*/5);
  Touch();
  CHECK(below_.Log() == "read 7 for 5; read 7 for 5; share 7 with 5; ");
  below_.End(ReadResult());
  below_.End(ReadResult());
  below_.End(ReadResult());
}

TEST_CASE_METHOD(RecheckedSharesTest,
                 "A look at a touched file is for all reads that wait for it",
                 "[storage][rechecked_source]") {
  Read(7, /*job=*/1);
  Read(8, /*job=*/2);
  source_.Share(8, {.job = 3});
  Touch();
  below_.Log();
  Touch();  // the other read is touched, too
  CHECK(below_.Log() == "share 7 with 3; share 7 with 2; ");
  source_.Share(8, {.job = 4});
  CHECK(below_.Log() == "share 7 with 4; ");
  below_.End(ReadResult());
  CHECK(below_.Log() ==
        "read 7 for 1; share 7 with 1; share 7 with 2; share 7 with 3; "
        "share 7 with 4; ");
  below_.End(ReadResult());
  // Each job pays for the repetition of its own read.
  CHECK(below_.Log() ==
        "read 7 for 1; read 8 for 2; share 8 with 3; share 8 with 4; ");
  below_.End(ReadResult());
  below_.End(ReadResult());
  CHECK(log_ == "7: OK; 8: OK; ");
}

TEST_CASE_METHOD(
    RecheckedSharesTest,
    "A failed look at a touched file fails all reads that wait for it",
    "[storage][rechecked_source]") {
  Read(7, /*job=*/1);
  Read(8, /*job=*/2);
  Touch();
  Touch();
  source_.Stop();
  below_.End(ReadResult());
  CHECK(log_ == "7: CANCELLED; 8: CANCELLED; ");
}

TEST_CASE_METHOD(RecheckedSourceTest,
                 "A rechecked source asks for nothing once it was stopped",
                 "[storage][rechecked_source]") {
  source_.Stop();
  CHECK(Read().status() ==
        absl::CancelledError("a: the daemon is shutting down"));
}

}  // namespace
}  // namespace forebay::storage
