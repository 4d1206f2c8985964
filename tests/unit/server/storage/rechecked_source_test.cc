#include "server/storage/rechecked_source.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "tests/conformance/storage/memory_source.h"
#include "tests/conformance/storage/read_text.h"

namespace forebay::storage {
namespace {

constexpr Revision kFirst = {.inode = 1, .ctime_nanos = 1};
constexpr Revision kTouched = {.inode = 1, .ctime_nanos = 2};
constexpr Revision kTouchedAgain = {.inode = 1, .ctime_nanos = 3};

// Says what a test wants.
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
    request.seen = &seen_;
    if (with_layout) request.layout = layout_;
    return ReadText(source_, std::move(request));
  }

  MemorySource memory_;
  RecheckedSource source_{&memory_};
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

TEST_F(RecheckedSourceTest, NothingIsAskedOnceItWasStopped) {
  source_.Stop();
  EXPECT_EQ(Read().status(),
            absl::CancelledError("a: the daemon is shutting down"));
}

}  // namespace
}  // namespace forebay::storage
