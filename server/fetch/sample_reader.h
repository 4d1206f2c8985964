#ifndef FOREBAY_SERVER_FETCH_SAMPLE_READER_H_
#define FOREBAY_SERVER_FETCH_SAMPLE_READER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/executor/executor.h"
#include "server/fetch/decode_rate.h"
#include "server/fetch/sample_contents.h"
#include "server/pipeline/shared_workspace.h"
#include "server/pipeline/workspace.h"
#include "server/sample/large_samples.h"
#include "server/sample/sample_identity.h"
#include "server/schedule/flow.h"
#include "server/slots/shared_memory.h"
#include "server/storage/byte_source.h"

namespace forebay::fetch {

// The collaborators that all readers share. They outlive every reader.
struct FetchDeps {
  storage::ByteSource* source = nullptr;
  executor::Executor* executor = nullptr;
  // A workspace for each place of the executor. A place is the number of a
  // running task. Only the task at a place uses the place's workspace.
  const std::vector<std::unique_ptr<pipeline::Workspace>>* workspaces = nullptr;
  // The workspace for images that need more scratch memory than `workspaces`
  // have. Null if there is none.
  pipeline::SharedWorkspace* shared_workspace = nullptr;
  base::MemoryBudget* budget = nullptr;
  // Called when a file differs from what the dataset's index says. Must not
  // block.
  std::function<void(const dataset::Dataset&)> on_changed;
};

// A sample that could not be made, and the reason.
struct FailedSample {
  std::uint32_t index = 0;  // position in the list passed to Fetch
  absl::Status status;
};

// The result of a fetch. The samples are in the window.
struct Fetched {
  // The descriptor of a new window; invalid if the window of the previous fetch
  // is used again.
  base::Fd window;
  std::uint64_t window_bytes = 0;    // size of a new window
  std::vector<FailedSample> failed;  // the samples that are not in the window
};

// Fetches single samples of a dataset, by number, for one client. The samples
// are written to the reader's window: shared memory that the reader owns, and
// that grows if a fetch needs more. All samples of a fetch are read at once,
// through the source that streams use. They are decoded in parallel by the
// executor that streams use.
//
// Used by one thread at a time. Owned by the session; the objects in FetchDeps
// outlive the reader. Fetch blocks until the samples are in the window, but not
// for long once `stop` is requested. INVALID_ARGUMENT: a sample does not exist,
// or there are too many. RESOURCE_EXHAUSTED: there is no memory for so many
// bytes at once. CANCELLED: the fetch was stopped.
class SampleReader {
 public:
  // Fetches on behalf of the job `flow`.
  SampleReader(ReaderSpec spec, FetchDeps deps, schedule::Flow flow);

  const dataset::Dataset& dataset() const { return *spec_->dataset; }

  // Fetches samples, which stay in the window until the next Fetch. A sample
  // that cannot be made does not fail the others.
  absl::StatusOr<Fetched> Fetch(absl::Span<const std::uint64_t> samples,
                                const std::stop_token& stop);

 private:
  struct Work;

  // Checks the numbers of the samples, and reserves memory for their bytes.
  absl::Status Begin(absl::Span<const std::uint64_t> samples, Work* work) const;
  // Reads the bytes of all samples.
  absl::Status Read(const std::shared_ptr<Work>& work,
                    const std::stop_token& stop) const;
  // Measures all samples and assigns their offsets in the window. Returns the
  // bytes that the window needs.
  std::uint64_t LayOut(Work* work);
  // Makes a window of at least `bytes` bytes, unless the present window is
  // large enough.
  absl::Status MakeWindow(std::uint64_t bytes, Fetched* fetched);
  // Writes all samples to the window, and then the header and the fields'
  // descriptions.
  absl::Status Make(const std::shared_ptr<Work>& work,
                    const std::stop_token& stop);

  const std::shared_ptr<const ReaderSpec> spec_;
  const FetchDeps deps_;
  const schedule::Flow flow_;
  const sample::SampleIdentity identity_;
  const std::shared_ptr<sample::LargeSamples> large_;
  // The measured cost of decoding. Tasks of a stopped fetch may still add to
  // it, so they share its ownership.
  const std::shared_ptr<DecodeRate> rate_ = std::make_shared<DecodeRate>();
  // The workspace of the thread that calls Fetch.
  pipeline::Workspace measuring_;
  // The present window. Tasks of a stopped fetch may still write into it, so
  // they share its ownership.
  std::shared_ptr<slots::SharedMemory> window_;
  base::MemoryReservation reservation_;  // memory of the window
};

}  // namespace forebay::fetch

#endif  // FOREBAY_SERVER_FETCH_SAMPLE_READER_H_
