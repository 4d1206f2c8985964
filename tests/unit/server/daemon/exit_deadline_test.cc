#include "server/daemon/exit_deadline.h"

#include <chrono>
#include <future>
#include <string>

#include "tests/catch/catch.h"

namespace forebay::daemon {
namespace {

constexpr std::chrono::hours kLong(1);
constexpr std::chrono::nanoseconds kNone(0);

// Records the steps, instead of ending the process.
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

TEST_CASE("The exit deadline ends the process when a step takes too long",
          "[daemon][exit_deadline]") {
  Notes notes;
  const ExitDeadline deadline(notes.actions(), "a thread that hangs",
                              {.step = kNone, .all = kLong});
  notes.exited.get_future().wait();
  CHECK(notes.order == "let go, exit");
}

TEST_CASE(
    "The exit deadline ends the process when all steps together take too long",
    "[daemon][exit_deadline]") {
  Notes notes;
  ExitDeadline deadline(notes.actions(), "a thread that hangs",
                        {.step = kLong, .all = kNone});
  deadline.Begin("another");
  notes.exited.get_future().wait();
  CHECK(notes.order == "let go, exit");
}

TEST_CASE("The exit deadline ends the process at once when it is told to",
          "[daemon][exit_deadline]") {
  Notes notes;
  ExitDeadline deadline(notes.actions(), "something",
                        {.step = kLong, .all = kLong});
  deadline.Begin("a thread that hangs");
  deadline.Expire();
  CHECK(notes.order == "let go, exit");
}

TEST_CASE("The exit deadline leaves a process alone that is in time",
          "[daemon][exit_deadline]") {
  Notes notes;
  {
    ExitDeadline deadline(notes.actions(), "something",
                          {.step = kLong, .all = kLong});
    deadline.Begin("something else");
  }
  CHECK_THAT(notes.order, Catch::Equals(""));
}

}  // namespace
}  // namespace forebay::daemon
