#include "server/base/worker_threads.h"

#include <system_error>
#include <thread>
#include <vector>

#include "server/base/check.h"

namespace forebay::base {

void RunOnThreads(std::size_t threads, const std::function<void()>& work) {
  FOREBAY_CHECK(threads >= 1);
  std::vector<std::jthread> others;
  others.reserve(threads - 1);
  try {
    while (others.size() + 1 < threads) others.emplace_back(work);
  } catch (const std::system_error&) {
    // The threads that have started do all the work.
  }
  work();
}

}  // namespace forebay::base
