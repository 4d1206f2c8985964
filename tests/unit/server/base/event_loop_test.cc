#include "server/base/event_loop.h"

#include <sys/epoll.h>
#include <unistd.h>

#include <thread>
#include <vector>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"

namespace forebay::base {
namespace {

using tests::IsOk;

class EventLoopTest {
 protected:
  EventLoopTest() {
    auto loop = EventLoop::Create();
    REQUIRE_THAT(loop, IsOk());
    loop_ = *std::move(loop);
    int fds[2];
    REQUIRE(pipe(fds) == 0);
    out_ = Fd(fds[0]);
    in_ = Fd(fds[1]);
  }

  std::unique_ptr<EventLoop> loop_;
  Fd out_;
  Fd in_;
};

TEST_CASE_METHOD(EventLoopTest,
                 "An event loop runs what other threads post in their order",
                 "[base][event_loop]") {
  std::vector<int> ran;
  std::jthread other([&] {
    for (int i = 0; i < 100; ++i) loop_->Post([&, i] { ran.push_back(i); });
    loop_->Post([&] { loop_->Stop(); });
  });
  loop_->Run();
  other.join();
  REQUIRE(ran.size() == 100);
  for (int i = 0; i < 100; ++i) CHECK(ran[i] == i);
}

TEST_CASE_METHOD(EventLoopTest,
                 "An event loop calls again while a descriptor is ready",
                 "[base][event_loop]") {
  int calls = 0;
  const auto watch = loop_->Add(out_.get(), EPOLLIN, [&](std::uint32_t events) {
    CHECK(events == EPOLLIN);
    if (++calls == 3) loop_->Stop();
  });
  REQUIRE_THAT(watch, IsOk());
  REQUIRE(write(in_.get(), "x", 1) == 1);
  loop_->Run();
  CHECK(calls == 3);
}

TEST_CASE_METHOD(EventLoopTest, "An event loop calls nobody who was removed",
                 "[base][event_loop]") {
  int pipe_fds[2];
  REQUIRE(pipe(pipe_fds) == 0);
  const Fd other_out(pipe_fds[0]);
  const Fd other_in(pipe_fds[1]);
  REQUIRE(write(in_.get(), "x", 1) == 1);
  REQUIRE(write(other_in.get(), "x", 1) == 1);
  // Both descriptors are ready in the same round. The callback that runs first
  // removes the other watch.
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
  CHECK(calls == 1);
}

TEST_CASE_METHOD(EventLoopTest,
                 "An event loop tells a hang-up though nothing is asked for",
                 "[base][event_loop]") {
  std::uint32_t seen = 0;
  const auto watch = *loop_->Add(out_.get(), EPOLLIN, [&](std::uint32_t e) {
    seen = e;
    loop_->Stop();
  });
  loop_->SetEvents(watch, 0);
  in_.Close();
  loop_->Run();
  CHECK(seen == EPOLLHUP);
}

TEST_CASE_METHOD(EventLoopTest, "An event loop ticks until stopped",
                 "[base][event_loop]") {
  int ticks = 0;
  REQUIRE_THAT(loop_->Every(100'000,
                            [&] {
                              if (++ticks == 3) loop_->Stop();
                            }),
               IsOk());
  loop_->Run();
  CHECK(ticks == 3);
}

TEST_CASE_METHOD(EventLoopTest, "An event loop refuses what cannot be watched",
                 "[base][event_loop]") {
  CHECK_FALSE(loop_->Add(-1, EPOLLIN, [](std::uint32_t) {}).ok());
}

}  // namespace
}  // namespace forebay::base
