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

// The limits of the requests to one host.
struct RangedSourceOptions {
  // The most requests at once; at least 1.
  int concurrency = 256;
  // The bytes of a part. A longer read makes several requests at once.
  std::uint64_t part_bytes = std::uint64_t{8} << 20;
  // While more bytes than this are still to come, the source makes no further
  // request.
  std::uint64_t max_bytes = std::uint64_t{512} << 20;
  // The most stalled or pausing parts of a job. A job that has this many gets
  // no further parts. Bytes of such parts do not count towards `max_bytes`, so
  // that they hold up no other job.
  std::size_t most_stalled = 64;
  Timeouts timeouts = {};
  HedgeOptions hedge = {};
};

// Reads objects of one host over HTTP, by requests that a Protocol makes.
//
// The source adjusts the number of requests at once to get the most bytes a
// second. Parts that pause between attempts, or have brought nothing for long,
// do not count as requests in flight (StartedParts). Jobs share the requests by
// weight, within their caps. For a job's share, a request counts as its bytes
// plus the measured cost of a request; for its cap, as its bytes alone. Within
// a job the most urgent read goes first. If an answer does not begin in time,
// the request is made once more beside the first. If a read covers a whole
// object whose CRC-32C the server tells, that number is compared with the
// CRC-32C of the bytes. If the two differ, the object is read again, at most
// three times in all.
//
// Thread-safe; calls each `done` on the engine's thread. `client`, `protocol`
// and `authorizer` (which may be null) outlive the source; bytes that the
// source gave may outlive it. Destruction, on another thread than the engine's,
// fails the remaining reads with CANCELLED. Read does not block. Errors are as
// ByteSource says.
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

  // Returns the state at the time when the engine's thread last began or ended
  // a request. `concurrency` is the number of simultaneous requests that was
  // found best. Does not block.
  SourceState State() const override;

 private:
  // A read in flight, in one part or several.
  struct Reading;
  // A part of a read: the range of one request.
  struct Part {
    std::shared_ptr<Reading> reading;
    HttpRange range;
  };
  using Queue = schedule::SharedQueue<Part>;

  // A part that has begun.
  struct Underway {
    Part part;
    HedgedClient::Id call = 0;
    // The part's request, as `meter_` counts it; nullopt once the part has
    // given its place back.
    std::optional<RequestMeter::MeteredRequest> metered;
  };

  void Begin(ReadRequest request);
  absl::Status Check(const ReadRequest& request) const;
  // Puts the parts of a read into the queue.
  void Enqueue(const std::shared_ptr<Reading>& reading);
  // Adds a reader to a part.
  void Join(Queue::Id part, const ReadPurpose& purpose);
  // Starts the parts whose turn it is, and publishes the new state.
  void Dispatch();
  // Posts a call of Dispatch, for callers that must not call the client.
  void PostDispatch();
  // Whether another part may be in flight.
  bool HasRoom() const;
  // Begins the next attempts of parts that wait for a place.
  void ContinueParts();
  // Begins parts from the queue.
  void StartParts();
  // Sets the timer that calls Tune every 50 ms while parts are under way.
  void SetTimer();
  // Sets the timer that calls Dispatch when caps permit more parts.
  void WakeForCaps();
  std::int64_t Now() const { return client_->engine().clock().NowNanos(); }
  // Finds stalled parts, and tells the tuner and the meter how many bytes have
  // come.
  void Tune();
  // Returns the load of a part: its bytes, and the cost of a request.
  schedule::Load LoadOf(const HttpRange& range) const;
  // Returns the callbacks by which parts_ gives back and takes places in
  // `queue_`.
  StartedParts::Places PlacesInQueue();
  void StartPart(const Queue::Popped& part);
  // Returns the call that makes the request of a part.
  Call CallFor(Queue::Id id, const Part& part, HttpRequest request);
  // Handles the end of a part's call.
  void OnPart(Queue::Id id, const absl::StatusOr<HttpResponse>& answer);
  // Forgets a part that is over.
  void Leave(Queue::Id id);
  // Ends a read whose parts have all come, or reads it again if its checksum
  // differs.
  void Complete(const std::shared_ptr<Reading>& reading);
  // Ends a read with an error, and cancels its other parts.
  void Fail(const std::shared_ptr<Reading>& reading, const absl::Status& error);
  void CancelAll();

  Client* const client_;
  const Protocol* const protocol_;
  Authorizer* const authorizer_;
  const RangedSourceOptions options_;
  // Only the engine's thread uses the members from here to `caps_wake_at_`.
  Queue queue_;
  std::unordered_set<std::shared_ptr<Reading>> readings_;
  // The readings by ticket; readings_ owns them.
  std::unordered_map<std::uint64_t, Reading*> tickets_;
  std::unordered_map<Queue::Id, Underway> underway_;
  // Knows which parts in underway_ have a place among those in flight.
  StartedParts parts_;
  // Null while the source is ending.
  std::unique_ptr<HedgedClient> calls_;
  schedule::ConcurrencyTuner tuner_;
  RequestMeter meter_;
  // All bytes that have come since the source was made.
  std::uint64_t arrived_ = 0;
  // Whether the queue had no part to start since the tuner last looked.
  bool starved_ = false;
  bool timer_set_ = false;
  bool dispatch_posted_ = false;
  // The time of the timer that WakeForCaps has set.
  std::int64_t caps_wake_at_ = INT64_MAX;
  mutable base::Mutex state_mutex_;
  SourceState state_ ABSL_GUARDED_BY(state_mutex_);
  // Tells timers whether the source still exists.
  std::shared_ptr<const bool> here_ = std::make_shared<const bool>(true);
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_RANGED_SOURCE_H_
