#include "server/base/event_loop.h"

#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <thread>
#include <vector>

namespace forebay::base {
namespace {

class EventLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loop = EventLoop::Create();
    ASSERT_TRUE(loop.ok()) << loop.status();
    loop_ = *std::move(loop);
    int fds[2];
    ASSERT_EQ(pipe(fds), 0);
    out_ = Fd(fds[0]);
    in_ = Fd(fds[1]);
  }

  std::unique_ptr<EventLoop> loop_;
  Fd out_;
  Fd in_;
};

TEST_F(EventLoopTest, RunsWhatOtherThreadsPostInTheirOrder) {
  std::vector<int> ran;
  std::thread other([&] {
    for (int i = 0; i < 100; ++i) loop_->Post([&, i] { ran.push_back(i); });
    loop_->Post([&] { loop_->Stop(); });
  });
  loop_->Run();
  other.join();
  ASSERT_EQ(ran.size(), 100);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(ran[i], i);
}

TEST_F(EventLoopTest, CallsAgainWhileADescriptorIsReady) {
  int calls = 0;
  const auto watch = loop_->Add(out_.get(), EPOLLIN, [&](std::uint32_t events) {
    EXPECT_EQ(events, EPOLLIN);
    if (++calls == 3) loop_->Stop();
  });
  ASSERT_TRUE(watch.ok()) << watch.status();
  ASSERT_EQ(write(in_.get(), "x", 1), 1);
  loop_->Run();
  EXPECT_EQ(calls, 3);
}

TEST_F(EventLoopTest, CallsNobodyWhoWasRemoved) {
  int pipe_fds[2];
  ASSERT_EQ(pipe(pipe_fds), 0);
  const Fd other_out(pipe_fds[0]);
  const Fd other_in(pipe_fds[1]);
  ASSERT_EQ(write(in_.get(), "x", 1), 1);
  ASSERT_EQ(write(other_in.get(), "x", 1), 1);
  // Both are ready in the same round: whoever comes first removes the other.
  EventLoop::Watch a = 0;
  EventLoop::Watch b = 0;
  int calls = 0;
  const auto one = [&](EventLoop::Watch* other) {
    return [&, other](std::uint32_t) {
      ++calls;
      loop_->Remove(*other);
      loop_->Stop();
    };
  };
  a = *loop_->Add(out_.get(), EPOLLIN, one(&b));
  b = *loop_->Add(other_out.get(), EPOLLIN, one(&a));
  loop_->Run();
  EXPECT_EQ(calls, 1);
}

TEST_F(EventLoopTest, TellsAHangUpThoughNothingIsAskedFor) {
  std::uint32_t seen = 0;
  const auto watch = *loop_->Add(out_.get(), EPOLLIN, [&](std::uint32_t e) {
    seen = e;
    loop_->Stop();
  });
  loop_->SetEvents(watch, 0);
  in_.Close();
  loop_->Run();
  EXPECT_EQ(seen, EPOLLHUP);
}

TEST_F(EventLoopTest, TicksUntilStopped) {
  int ticks = 0;
  ASSERT_TRUE(loop_
                  ->Every(100'000,
                          [&] {
                            if (++ticks == 3) loop_->Stop();
                          })
                  .ok());
  loop_->Run();
  EXPECT_EQ(ticks, 3);
}

TEST_F(EventLoopTest, RefusesWhatCannotBeWatched) {
  EXPECT_FALSE(loop_->Add(-1, EPOLLIN, [](std::uint32_t) {}).ok());
}

}  // namespace
}  // namespace forebay::base
