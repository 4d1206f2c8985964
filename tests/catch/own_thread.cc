#include "tests/catch/own_thread.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace forebay::tests {
namespace {

// Both are set before main() begins.
const pid_t kProcess = getpid();
const std::thread::id kThread = std::this_thread::get_id();

}  // namespace

bool InTestsProcess() { return getpid() == kProcess; }

void CheckOwnThread(const char* file, std::size_t line, const char* what) {
  if (std::this_thread::get_id() == kThread) return;
  std::fprintf(stderr, "%s:%zu: %s off the test's own thread\n", file, line,
               what);
  std::abort();
}

}  // namespace forebay::tests
