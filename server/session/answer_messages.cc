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

void FillStats(const stream::StreamSnapshot& snapshot, proto::Stats& stats) {
  stats.set_samples_delivered(snapshot.taken.samples_delivered);
  stats.set_batches_delivered(snapshot.taken.batches_delivered);
  stats.set_bytes_delivered(snapshot.taken.bytes_delivered);
  stats.set_bytes_read(snapshot.made.bytes_read);
  stats.set_samples_decoded(snapshot.made.samples_decoded);
  stats.set_samples_substituted(snapshot.made.samples_substituted);
  stats.set_cpu_nanos(snapshot.made.cpu_nanos);
}

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
