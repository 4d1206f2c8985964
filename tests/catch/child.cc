#include "tests/catch/child.h"

#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <iostream>

#include "tests/catch/catch.h"
#include "tests/catch/results.h"

namespace forebay::tests {
namespace {

[[noreturn]] void Act(const std::function<void()>& act) {
  Results().back().failures.clear();
  try {
    act();
  } catch (const Catch::TestFailureException&) {
    // A REQUIRE failed: it is among the failures.
  }
  std::cout.flush();
  for (const std::string& failure : Results().back().failures)
    fprintf(stderr, "in the child process: %s\n", failure.c_str());
  fflush(nullptr);
  _exit(HasFailure() ? 1 : 0);
}

}  // namespace

ChildEnd RunInChild(const std::function<void()>& act) {
  // The child's copy of what is buffered would be written twice.
  std::cout.flush();
  fflush(nullptr);
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    Act(act);
  }
  close(ends[1]);
  ChildEnd end;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof(buffer))) > 0;)
    end.err.append(buffer, static_cast<std::size_t>(got));
  close(ends[0]);
  REQUIRE(waitpid(child, &end.status, 0) == child);
  return end;
}

}  // namespace forebay::tests
