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
#include "server/arena/shared_memory.h"
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
#include "server/storage/byte_source.h"

namespace forebay::fetch {

// The collaborators that all readers share; outlives them all.
struct FetchDeps {
  storage::ByteSource* source = nullptr;
  executor::Executor* executor = nullptr;
  // One for each worker of the executor, which alone uses it.
  const std::vector<std::unique_ptr<pipeline::Workspace>>* workspaces = nullptr;
  // For images that these are too small for. Null if there is none.
  pipeline::SharedWorkspace* shared_workspace = nullptr;
  base::MemoryBudget* budget = nullptr;
  // Told when a file was not as the dataset's index says. Does not block.
  std::function<void(const dataset::Dataset&)> on_changed;
};

// A sample that could not be made, and why.
struct FailedSample {
  std::uint32_t index = 0;  // among those asked for
  absl::Status status;
};

// The result of a fetch; the samples are in the window.
struct Fetched {
  base::Fd window;  // a new one's; invalid if it is still the one before
  std::uint64_t window_bytes = 0;
  std::vector<FailedSample> failed;
};

// Gives single samples of a dataset, by number, to one client. They lie in
// shared memory that the reader owns, its window, which grows as the samples of
// one fetch need it. They are read all at once, through the same source as
// those of streams, and decoded side by side by the same executor.
//
// Used by one thread at a time. Owned by the session; all of the deps outlive
// it. Fetch blocks until the samples are there, but not for long once `stop` is
// requested. Errors: INVALID_ARGUMENT, no such samples, or too many;
// RESOURCE_EXHAUSTED, no memory for so much at once; CANCELLED, stopped.
class SampleReader {
 public:
  SampleReader(ReaderSpec spec, FetchDeps deps, schedule::Flow flow);

  const dataset::Dataset& dataset() const { return *spec_->dataset; }

  absl::StatusOr<Fetched> Fetch(absl::Span<const std::uint64_t> samples,
                                const std::stop_token& stop);

 private:
  struct Work;

  absl::Status Begin(absl::Span<const std::uint64_t> samples, Work* work) const;
  absl::Status Read(const std::shared_ptr<Work>& work,
                    const std::stop_token& stop) const;
  // Decides where everything will lie; returns the bytes that this takes.
  std::uint64_t LayOut(Work* work);
  absl::Status MakeWindow(std::uint64_t bytes, Fetched* fetched);
  absl::Status Make(const std::shared_ptr<Work>& work,
                    const std::stop_token& stop);

  const std::shared_ptr<const ReaderSpec> spec_;
  const FetchDeps deps_;
  const schedule::Flow flow_;
  const sample::SampleIdentity identity_;
  const std::shared_ptr<sample::LargeSamples> large_;
  // Shared with the tasks of a fetch that was stopped.
  const std::shared_ptr<DecodeRate> rate_ = std::make_shared<DecodeRate>();
  pipeline::Workspace measuring_;
  // Shared with the tasks of a fetch that was stopped, which may still write
  // into it.
  std::shared_ptr<arena::SharedMemory> window_;
  base::MemoryReservation reservation_;  // the window's
};

}  // namespace forebay::fetch

#endif  // FOREBAY_SERVER_FETCH_SAMPLE_READER_H_
