#include "server/session/answer_messages.h"

#include <algorithm>
#include <cstddef>

#include "server/session/request.h"

namespace forebay::session {
namespace {

// The most bytes of a sample's error, and the most errors of an answer.
// Together they fit a message (kMaxMessage).
constexpr std::size_t kMaxSampleError = 2048;
constexpr std::size_t kMaxSampleErrors = 16;

}  // namespace

void AddFailed(const std::vector<fetch::FailedSample>& failed,
               proto::Fetched& fetched) {
  const std::size_t count = std::min(failed.size(), kMaxSampleErrors);
  for (std::size_t i = 0; i < count; ++i) {
    proto::FailedSample* const said = fetched.add_failed();
    said->set_index(failed[i].index);
    SetError(failed[i].status, kMaxSampleError, said->mutable_error());
  }
}

}  // namespace forebay::session
