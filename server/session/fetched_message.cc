#include "server/session/fetched_message.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "server/session/request.h"

namespace forebay::session {
namespace {

// The most bytes of a sample's error, and the most errors of an answer.
// Together they fit a message (kMaxMessage).
constexpr std::size_t kMaxSampleError = 2048;
constexpr std::size_t kMaxSampleErrors = 16;

}  // namespace

void DescribeFetched(fetch::Fetched fetched, proto::Fetched& message,
                     std::vector<base::Fd>& fds) {
  if (fetched.window) {
    message.set_window_bytes(fetched.window_bytes);
    fds.push_back(std::move(fetched.window));
  }
  const std::size_t count = std::min(fetched.failed.size(), kMaxSampleErrors);
  for (std::size_t i = 0; i < count; ++i) {
    proto::FailedSample* const sample = message.add_failed();
    sample->set_index(fetched.failed[i].index);
    SetError(fetched.failed[i].status, kMaxSampleError,
             sample->mutable_error());
  }
}

}  // namespace forebay::session
