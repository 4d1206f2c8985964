#ifndef FOREBAY_SERVER_STREAM_SAMPLE_READER_H_
#define FOREBAY_SERVER_STREAM_SAMPLE_READER_H_

#include <cstdint>
#include <memory>
#include <stop_token>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/arena/shared_memory.h"
#include "server/base/fd.h"
#include "server/base/memory_budget.h"
#include "server/pipeline/workspace.h"
#include "server/schedule/flow.h"
#include "server/stream/large_samples.h"
#include "server/stream/sample_contents.h"
#include "server/stream/sample_identity.h"
#include "server/stream/stream_spec.h"

namespace forebay::stream {

// A sample that could not be made, and why.
struct FailedSample {
  std::uint32_t index = 0;  // among those asked for
  absl::Status status;
};

// What came of a fetch; the samples are in the window.
struct Fetched {
  base::Fd window;  // of a new one; invalid: it is the one before
  std::uint64_t window_bytes = 0;
  std::vector<FailedSample> failed;
};

// Gives single samples of a dataset, by number, to one client: in shared memory
// that it owns, its window, which grows as the samples that are fetched at once
// need it. The samples of a fetch are read at once, through the same source as
// those of streams, and decoded side by side by the same executor.
//
// Used by one thread at a time. Owned by the session; all of the deps
// outlives it. Fetch blocks until the samples are there, but not for long once
// `stop` is requested. Errors: INVALID_ARGUMENT, what was asked for is none;
// RESOURCE_EXHAUSTED, no memory for so much at once; CANCELLED, stopped.
class SampleReader {
 public:
  SampleReader(ReaderSpec spec, StreamDeps deps, schedule::Flow flow);

  const dataset::Dataset& dataset() const { return *spec_->dataset; }

  absl::StatusOr<Fetched> Fetch(absl::Span<const std::uint64_t> samples,
                                const std::stop_token& stop);

 private:
  struct Work;

  absl::Status Begin(absl::Span<const std::uint64_t> samples, Work* work) const;
  absl::Status Read(const std::shared_ptr<Work>& work,
                    const std::stop_token& stop) const;
  // Says where everything will lie; returns the bytes that this takes.
  std::uint64_t LayOut(Work* work);
  absl::Status MakeWindow(std::uint64_t bytes, Fetched* fetched);
  absl::Status Make(const std::shared_ptr<Work>& work,
                    const std::stop_token& stop);

  const std::shared_ptr<const ReaderSpec> spec_;
  const StreamDeps deps_;
  const schedule::Flow flow_;
  const SampleIdentity identity_;
  const std::shared_ptr<LargeSamples> large_;
  pipeline::Workspace measuring_;
  // Tasks of a fetch that was stopped may still write into it.
  std::shared_ptr<arena::SharedMemory> window_;
  base::MemoryReservation reservation_;  // of the window
};

}  // namespace forebay::stream

#endif  // FOREBAY_SERVER_STREAM_SAMPLE_READER_H_
