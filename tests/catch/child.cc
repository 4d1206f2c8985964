#include "tests/catch/child.h"

#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <exception>
#include <iostream>

#include "tests/catch/catch.h"
#include "tests/catch/results.h"

namespace forebay::tests {
namespace {

// Returns the file's text from its beginning, wherever the file position is.
std::string ReadAll(int fd) {
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = pread(fd, buffer, sizeof(buffer),
                                 static_cast<off_t>(text.size()))) > 0;)
    text.append(buffer, static_cast<std::size_t>(got));
  return text;
}

}  // namespace

bool HoldsInChild(const std::function<void()>& act) {
  Result& result = Results().back();
  result.failures.clear();
  result.skip_reason.clear();
  try {
    act();
  } catch (const Catch::TestFailureException&) {
    // Catch2 throws this if a REQUIRE failed, which `failures` then lists, and
    // at a SKIP.
    if (result.failures.empty() && result.skip_reason.empty())
      result.failures.emplace_back("a test failure without an assertion");
  } catch (const std::exception& error) {
    result.failures.push_back(std::string("an exception: ") + error.what());
  } catch (...) {
    result.failures.emplace_back("an exception of an unknown type");
  }
  if (!result.skip_reason.empty())
    result.failures.push_back("a SKIP in a child: " + result.skip_reason);
  std::cout.flush();
  for (const std::string& failure : result.failures)
    fprintf(stderr, "in the child process: %s\n", failure.c_str());
  fflush(nullptr);
  return result.failures.empty();
}

ChildEnd RunInChild(const std::function<void()>& act) {
  // Buffered output is flushed first: the child has a copy, which would be
  // written twice.
  std::cout.flush();
  fflush(nullptr);
  // A file in memory takes the child's stderr. A pipe would be kept open by
  // processes that outlive the child.
  const int err = memfd_create("stderr", MFD_CLOEXEC);
  REQUIRE(err >= 0);
  void* const shared = mmap(nullptr, 1, PROT_READ | PROT_WRITE,
                            MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  REQUIRE(shared != MAP_FAILED);
  auto* const has_ended = static_cast<volatile bool*>(shared);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    dup2(err, STDERR_FILENO);
    const bool holds = HoldsInChild(act);
    *has_ended = true;
    _exit(holds ? 0 : 1);
  }
  ChildEnd end;
  pid_t waited;
  do {
    waited = waitpid(child, &end.status, 0);
  } while (waited < 0 && errno == EINTR);
  const bool left = end.status == 0 && !*has_ended;
  munmap(shared, 1);
  end.err = ReadAll(err);
  close(err);
  REQUIRE(waited == child);
  if (left) FAIL("the child ended by itself, with 0");
  return end;
}

}  // namespace forebay::tests
