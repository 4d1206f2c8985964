#ifndef FOREBAY_SERVER_STORAGE_HTTP_RANGED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_HTTP_RANGED_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/base/mutex.h"
#include "server/schedule/concurrency_tuner.h"
#include "server/schedule/shared_queue.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/client.h"
#include "server/storage/http/hedge_policy.h"
#include "server/storage/http/hedged_client.h"
#include "server/storage/http/message.h"
#include "server/storage/http/protocol.h"
#include "server/storage/http/request_meter.h"
#include "server/storage/http/started_parts.h"
#include "server/storage/shared_out_source.h"
#include "server/storage/source_state.h"

namespace forebay::storage::http {

struct RangedSourceOptions {
  int concurrency = 256;  // requests at once, at most; at least 1
  // A longer read makes several requests at once.
  std::uint64_t part_bytes = std::uint64_t{8} << 20;
  // The source makes no more requests while so many bytes are to come.
  std::uint64_t max_bytes = std::uint64_t{512} << 20;
  // A job that has so many stalled or pausing parts gets no further ones. Their
  // bytes do not count above, so that they hold up no other job.
  std::size_t most_stalled = 64;
  Timeouts timeouts = {};
  HedgeOptions hedge = {};
};

// Reads objects of one host over HTTP by the requests of a Protocol, as many at
// once as get the most bytes a second. Parts that pause between attempts, or
// bring nothing for long, do not count among these (StartedParts). Jobs share
// the requests by weight, within their caps. A request counts by its bytes and
// by its cost besides, which is measured; within a job the most urgent goes
// first. If an answer does not begin in time, the source makes the request once
// more, beside the first. It compares whole objects with their CRC32C, if the
// server tells that, and reads them again if it differs.
//
// Thread-safe; calls each `done` on the engine's thread. `client`, `protocol`
// and `authorizer` (which may be null) must outlive it; bytes that it gave may
// outlive it. Destruction, on another thread than the engine's, fails the reads
// that are left with CANCELLED. Read does not block. Errors as ByteSource says.
class RangedSource final : public SharedOutSource {
 public:
  RangedSource(Client* client, const Protocol* protocol,
               Authorizer* authorizer = nullptr,
               const RangedSourceOptions& options = {});
  ~RangedSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void Share(std::uint64_t ticket, const ReadPurpose& purpose) override;
  void SetWeight(std::uint64_t job, double weight) override;
  void SetCap(std::uint64_t job, double bytes_per_second) override;
  void Forget(std::uint64_t job) override;

  // As it was when the engine's thread last began or ended a request. Its
  // concurrency is the one found to be best. Does not block.
  SourceState State() const override;

 private:
  // A read in flight, in one part or several.
  struct Reading;
  struct Part {
    std::shared_ptr<Reading> reading;
    ByteRange range;
  };
  using Queue = schedule::SharedQueue<Part>;

  // A part that has begun.
  struct Underway {
    Part part;
    HedgedClient::Id call = 0;
    // Nullopt once it has left the stretches that are measured.
    std::optional<RequestMeter::MeteredRequest> metered;
  };

  void Begin(ReadRequest request);
  absl::Status Check(const ReadRequest& request) const;
  void Enqueue(const std::shared_ptr<Reading>& reading);
  void Join(Queue::Id part, const ReadPurpose& purpose);
  // Starts the parts whose turn it is, and tells the new state.
  void Dispatch();
  // Does so soon, for callers that must not call the client.
  void PostDispatch();
  bool HasRoom() const;
  void ContinueParts();
  void StartParts();
  // Makes Tune run now and then.
  void SetTimer();
  // Makes Dispatch run when caps let more through.
  void WakeForCaps();
  std::int64_t Now() const { return client_->engine().clock().NowNanos(); }
  void Tune();
  // Returns the cost of a part, as measured so far.
  schedule::Load LoadOf(const ByteRange& range) const;
  StartedParts::Places PlacesInQueue();
  void StartPart(const Queue::Popped& part);
  Call CallFor(Queue::Id id, const Part& part, Request request);
  void OnPart(Queue::Id id, const absl::StatusOr<Answer>& answer);
  // A part is over.
  void Leave(Queue::Id id);
  // All parts have come.
  void Complete(const std::shared_ptr<Reading>& reading);
  void Fail(const std::shared_ptr<Reading>& reading, const absl::Status& error);
  void CancelAll();

  Client* const client_;
  const Protocol* const protocol_;
  Authorizer* const authorizer_;
  const RangedSourceOptions options_;
  // Only the engine's thread uses these.
  Queue queue_;
  std::unordered_set<std::shared_ptr<Reading>> readings_;
  std::unordered_map<std::uint64_t, Reading*> tickets_;  // of readings_
  std::unordered_map<Queue::Id, Underway> underway_;
  StartedParts parts_;                   // those of underway_
  std::unique_ptr<HedgedClient> calls_;  // null: the source is ending
  schedule::ConcurrencyTuner tuner_;
  RequestMeter meter_;
  std::uint64_t arrived_ = 0;  // bytes, ever
  bool starved_ = false;       // since the tuner looked
  bool timer_set_ = false;
  bool dispatch_posted_ = false;
  std::int64_t caps_wake_at_ = INT64_MAX;
  mutable base::Mutex state_mutex_;
  SourceState state_ ABSL_GUARDED_BY(state_mutex_);
  // Tells timers whether the source still exists.
  std::shared_ptr<const bool> here_ = std::make_shared<const bool>(true);
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_RANGED_SOURCE_H_
