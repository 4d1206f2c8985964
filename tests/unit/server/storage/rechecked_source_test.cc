#include "server/storage/rechecked_source.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/conformance/storage/memory_source.h"
#include "tests/conformance/storage/read_text.h"

namespace forebay::storage {
namespace {

constexpr Revision kFirst = {.inode = 1, .ctime_nanos = 1};
constexpr Revision kTouched = {.inode = 1, .ctime_nanos = 2};
constexpr Revision kTouchedAgain = {.inode = 1, .ctime_nanos = 3};

// Answers as the test scripts it.
class ScriptedLayout final : public ObjectLayout {
 public:
  void LookAgain(
      const ReadRequest& read, ByteSource&,
      std::function<void(absl::StatusOr<Revision>)> done) const override {
    ++looks;
    if (on_look) on_look();
    EXPECT_EQ(read.object, "a");
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

class RecheckedSourceTest : public ::testing::Test {
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

TEST_F(RecheckedSourceTest, WhatIsAsItWasIsNotLookedAt) {
  EXPECT_EQ(*Read(), "content");
  EXPECT_EQ(seen_, kFirst);
  EXPECT_EQ(layout_->looks, 0);
}

TEST_F(RecheckedSourceTest, WhatWasTouchedIsLookedAtAndRead) {
  memory_.Rewrite("a", "CONTENT", kTouched);
  EXPECT_EQ(*Read(), "CONTENT");
  EXPECT_EQ(seen_, kTouched);
  EXPECT_EQ(layout_->looks, 1);
}

TEST_F(RecheckedSourceTest, IsLookedAtAgainIfItIsTouchedAgain) {
  memory_.Rewrite("a", "CONTENT", kTouched);
  layout_->on_look = [this] {
    if (layout_->looks == 1) memory_.Rewrite("a", "another", kTouchedAgain);
    if (layout_->looks == 2) layout_->answer = kTouchedAgain;
  };
  EXPECT_EQ(*Read(), "another");
  EXPECT_EQ(layout_->looks, 2);
}

TEST_F(RecheckedSourceTest, WhatIsNeverTheSameIsAnError) {
  memory_.Rewrite("a", "CONTENT", kTouchedAgain);
  EXPECT_EQ(Read().status(),
            absl::FailedPreconditionError("a: is changed again and again"));
}

TEST_F(RecheckedSourceTest, ErrorsOfTheLookAreTheReads) {
  memory_.Rewrite("a", "CONTENT", kTouched);
  layout_->answer = absl::FailedPreconditionError("a: was rewritten");
  EXPECT_EQ(Read().status(), absl::FailedPreconditionError("a: was rewritten"));
}

TEST_F(RecheckedSourceTest, WithoutALayoutNothingIsLookedAt) {
  memory_.Rewrite("a", "CONTENT", kTouched);
  EXPECT_EQ(Read(/*with_layout=*/false).status().code(),
            absl::StatusCode::kAborted);
  memory_.Rewrite("a", "CONTENT", {.inode = 2, .ctime_nanos = 1});
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(layout_->looks, 0);
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
  // Returns the calls since the last Log.
  std::string Log() { return std::exchange(log_, {}); }

 private:
  std::deque<ReadRequest> held_;
  std::string log_;
};

// A layout that takes two reads to look.
class SlowLayout final : public ObjectLayout {
 public:
  void LookAgain(
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

class RecheckedSharesTest : public ::testing::Test {
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
  bool is_held_ = false;  // tasks wait for the test
  RecheckedSource source_{&below_, [this](const ReadPurpose&, std::int64_t,
                                          std::function<void()> task) {
                            if (!is_held_) return task();
                            tasks_.push_back(std::move(task));
                          }};
  const std::shared_ptr<const ObjectLayout> layout_ =
      std::make_shared<SlowLayout>();
  std::string log_;
};

// A look may have read much that is to be parsed.
TEST_F(RecheckedSharesTest, LooksGoOnInTasks) {
  is_held_ = true;
  Read(7, /*job=*/1);
  Touch();
  EXPECT_EQ(below_.Log(), "read 7 for 1; read 7 for 1; share 7 with 1; ");
  below_.End(ReadResult());
  EXPECT_EQ(below_.Log(), "");
  ASSERT_EQ(tasks_.size(), 1u);
  tasks_.front()();
  EXPECT_EQ(below_.Log(), "read 7 for 1; share 7 with 1; ");
  below_.End(ReadResult());
  // The daemon leaves.
  tasks_.clear();
  EXPECT_EQ(log_, "7: CANCELLED; ");
}

TEST_F(RecheckedSharesTest, WhoJoinedAReadHasJoinedWhatIsReadAgain) {
  Read(7, /*job=*/1);
  source_.Share(7, {.job = 2});
  EXPECT_EQ(below_.Log(), "read 7 for 1; share 7 with 2; ");
  Touch();
  EXPECT_EQ(below_.Log(), "read 7 for 1; share 7 with 1; share 7 with 2; ");
  source_.Share(7, {.job = 3});
  EXPECT_EQ(below_.Log(), "share 7 with 3; ");
  below_.End(ReadResult());
  EXPECT_EQ(below_.Log(),
            "read 7 for 1; share 7 with 1; share 7 with 2; share 7 with 3; ");
  below_.End(ReadResult());
  EXPECT_EQ(below_.Log(), "read 7 for 1; share 7 with 2; share 7 with 3; ");
  source_.Share(7, {.job = 4});
  EXPECT_EQ(below_.Log(), "share 7 with 4; ");
  EXPECT_EQ(log_, "");
  below_.End(ReadResult());
  EXPECT_EQ(log_, "7: OK; ");
  // Another read may use the ticket now.
  Read(7, /*job=*/5);
  Touch();
  EXPECT_EQ(below_.Log(), "read 7 for 5; read 7 for 5; share 7 with 5; ");
  below_.End(ReadResult());
  below_.End(ReadResult());
  below_.End(ReadResult());
}

TEST_F(RecheckedSharesTest, ALookIsForAllWhoWaitForIt) {
  Read(7, /*job=*/1);
  Read(8, /*job=*/2);
  source_.Share(8, {.job = 3});
  Touch();
  below_.Log();
  Touch();  // the other read
  EXPECT_EQ(below_.Log(), "share 7 with 3; share 7 with 2; ");
  source_.Share(8, {.job = 4});
  EXPECT_EQ(below_.Log(), "share 7 with 4; ");
  below_.End(ReadResult());
  EXPECT_EQ(below_.Log(),
            "read 7 for 1; share 7 with 1; share 7 with 2; share 7 with 3; "
            "share 7 with 4; ");
  below_.End(ReadResult());
  // Each job pays for its own read again.
  EXPECT_EQ(below_.Log(),
            "read 7 for 1; read 8 for 2; share 8 with 3; share 8 with 4; ");
  below_.End(ReadResult());
  below_.End(ReadResult());
  EXPECT_EQ(log_, "7: OK; 8: OK; ");
}

TEST_F(RecheckedSharesTest, ALookThatFailsFailsAllWhoWaitForIt) {
  Read(7, /*job=*/1);
  Read(8, /*job=*/2);
  Touch();
  Touch();
  source_.Stop();
  below_.End(ReadResult());
  EXPECT_EQ(log_, "7: CANCELLED; 8: CANCELLED; ");
}

TEST_F(RecheckedSourceTest, NothingIsAskedOnceItWasStopped) {
  source_.Stop();
  EXPECT_EQ(Read().status(),
            absl::CancelledError("a: the daemon is shutting down"));
}

}  // namespace
}  // namespace forebay::storage
