#include "server/daemon/exit_deadline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

namespace forebay::daemon {
namespace {

constexpr std::chrono::hours kLong(1);
constexpr std::chrono::nanoseconds kNone(0);

// Notes what happens instead of an end of the process.
struct Notes {
  std::string order;
  std::promise<void> exited;

  ExitDeadline::Actions actions() {
    return {.let_go = [this] { order += "let go, "; },
            .exit =
                [this] {
                  order += "exit";
                  exited.set_value();
                }};
  }
};

TEST(ExitDeadlineTest, EndsTheProcessWhenAStepTakesTooLong) {
  Notes notes;
  const ExitDeadline deadline(notes.actions(), "a thread that hangs",
                              {.step = kNone, .all = kLong});
  notes.exited.get_future().wait();
  EXPECT_EQ(notes.order, "let go, exit");
}

TEST(ExitDeadlineTest, EndsTheProcessWhenAllStepsTakeTooLong) {
  Notes notes;
  ExitDeadline deadline(notes.actions(), "a thread that hangs",
                        {.step = kLong, .all = kNone});
  deadline.Begin("another");
  notes.exited.get_future().wait();
  EXPECT_EQ(notes.order, "let go, exit");
}

TEST(ExitDeadlineTest, EndsTheProcessAtOnceWhenItIsTold) {
  Notes notes;
  ExitDeadline deadline(notes.actions(), "something",
                        {.step = kLong, .all = kLong});
  deadline.Begin("a thread that hangs");
  deadline.Expire();
  EXPECT_EQ(notes.order, "let go, exit");
}

TEST(ExitDeadlineTest, LeavesAProcessAloneThatIsInTime) {
  Notes notes;
  {
    ExitDeadline deadline(notes.actions(), "something",
                          {.step = kLong, .all = kLong});
    deadline.Begin("something else");
  }
  EXPECT_EQ(notes.order, "");
}

}  // namespace
}  // namespace forebay::daemon
