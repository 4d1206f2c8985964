// Test cases that spoil a run, each in its own way. The program has the runner
// of all tests; runner_test.cc runs one case at a time.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "tests/catch/catch.h"
#include "tests/catch/child.h"
#include "tests/catch/skip.h"

namespace forebay::tests {
namespace {

TEST_CASE("Fails and exits with zero", "[exit]") {
  CHECK(1 == 2);
  std::exit(0);
}

TEST_CASE("Exits fast with zero", "[quick_exit]") { std::quick_exit(0); }

TEST_CASE("Exits at once with zero", "[at_once]") { _exit(0); }

TEST_CASE("Ends as it should", "[crash]") { CHECK(getpid() > 0); }

TEST_CASE("Is killed", "[crash]") { std::abort(); }

TEST_CASE("Asserts nothing", "[nothing]") {}

TEST_CASE("Has a section that asserts nothing", "[empty_section]") {
  SECTION("that asserts") { CHECK(getpid() > 0); }
  SECTION("that does not") {}
}

TEST_CASE("Skips without a reason", "[skip]") { SKIP(""); }

void Assert() { CHECK_THROWS_AS(throw 1, int); }

TEST_CASE("Asserts on another thread", "[thread]") {
  std::thread(&Assert).join();
}

TEST_CASE("Is left by a forked child", "[child]") {
  const pid_t child = fork();
  if (child == 0) return;
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
}

TEST_CASE("Has sections in a child", "[child_sections]") {
  const ChildEnd end = RunInChild([] {
    SECTION("one") { CHECK(1 == 1); }
    SECTION("two") { CHECK(1 == 2); }
  });
  CHECK(end.status == 0);
}

TEST_CASE("Has a child that exits by itself", "[child_exit]") {
  const ChildEnd end = RunInChild([] {
    CHECK(1 == 2);
    _exit(0);
  });
  CHECK(end.status == 0);
}

}  // namespace
}  // namespace forebay::tests
