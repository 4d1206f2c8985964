#include "server/daemon/exit_deadline.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <string>

namespace forebay::daemon {
namespace {

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
                              std::chrono::nanoseconds(0));
  notes.exited.get_future().wait();
  EXPECT_EQ(notes.order, "let go, exit");
}

TEST(ExitDeadlineTest, EndsTheProcessAtOnceWhenItIsTold) {
  Notes notes;
  ExitDeadline deadline(notes.actions(), "something", std::chrono::hours(1));
  deadline.Begin("a thread that hangs");
  deadline.Expire();
  EXPECT_EQ(notes.order, "let go, exit");
}

TEST(ExitDeadlineTest, LeavesAProcessAloneThatIsInTime) {
  Notes notes;
  {
    ExitDeadline deadline(notes.actions(), "something", std::chrono::hours(1));
    deadline.Begin("something else");
  }
  EXPECT_EQ(notes.order, "");
}

}  // namespace
}  // namespace forebay::daemon
