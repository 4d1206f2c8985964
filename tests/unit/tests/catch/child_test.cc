#include "tests/catch/child.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>
#include <stdexcept>

#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/catch/skip.h"

namespace forebay::tests {
namespace {

bool ExitedWith(const ChildEnd& end, int code) {
  return WIFEXITED(end.status) && WEXITSTATUS(end.status) == code;
}

TEST_CASE("A child whose assertions hold exits with zero", "[catch][child]") {
  const ChildEnd end = RunInChild([] {
    CHECK(getpid() > 0);
    std::cerr << "a word";
  });
  CHECK(end.status == 0);
  CHECK(end.err == "a word");
}

TEST_CASE("A child that fails says why and runs no other case",
          "[catch][child]") {
  const ChildEnd checked = RunInChild([] {
    CHECK(1 == 2);
    std::cerr << "goes on\n";
  });
  CHECK(ExitedWith(checked, 1));
  CHECK_THAT(checked.err, StartsWith("goes on\n"));
  CHECK_THAT(checked.err, Contains("1 == 2"));
  const ChildEnd required = RunInChild([] {
    REQUIRE(1 == 2);
    std::cerr << "goes on\n";
  });
  CHECK(ExitedWith(required, 1));
  CHECK_THAT(required.err, Not(Contains("goes on")));
  const ChildEnd thrown =
      RunInChild([] { throw std::runtime_error("no more paper"); });
  CHECK(ExitedWith(thrown, 1));
  CHECK_THAT(thrown.err, Contains("no more paper"));
  const ChildEnd unknown = RunInChild([] { throw 1; });
  CHECK(ExitedWith(unknown, 1));
  const ChildEnd skipped = RunInChild([] { SKIP("no GPU"); });
  CHECK(ExitedWith(skipped, 1));
  CHECK_THAT(skipped.err, Contains("no GPU"));
}

TEST_CASE("A child's signal is told", "[catch][child]") {
  const ChildEnd end = RunInChild([] { kill(getpid(), SIGKILL); });
  CHECK(WIFSIGNALED(end.status));
  CHECK(WTERMSIG(end.status) == SIGKILL);
}

TEST_CASE("What outlives a child delays its end for nobody", "[catch][child]") {
  int word[2];
  REQUIRE(pipe(word) == 0);
  const ChildEnd end = RunInChild([&] {
    close(word[1]);
    char byte;
    // The grandchild ends when the parent closes its end of the pipe.
    if (fork() == 0) _exit(static_cast<int>(read(word[0], &byte, 1)));
    std::cerr << "left";
  });
  CHECK(end.status == 0);
  CHECK(end.err == "left");
  close(word[0]);
  close(word[1]);
}

}  // namespace
}  // namespace forebay::tests
