#ifndef FOREBAY_SERVER_STORAGE_HTTP_RANGED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_HTTP_RANGED_SOURCE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/schedule/concurrency_tuner.h"
#include "server/schedule/job_shares.h"
#include "server/schedule/shared_queue.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/client.h"
#include "server/storage/http/hedge_policy.h"
#include "server/storage/http/hedged_client.h"
#include "server/storage/http/message.h"
#include "server/storage/http/protocol.h"
#include "server/storage/http/request_meter.h"

namespace forebay::storage::http {

struct RangedSourceOptions {
  int concurrency = 256;  // requests at once, at most; at least 1
  // Longer reads are made in several requests at once.
  std::uint64_t part_bytes = std::uint64_t{8} << 20;
  // No more are made while so many bytes are to come.
  std::uint64_t max_bytes = std::uint64_t{512} << 20;
  Timeouts timeouts = {};
  HedgeOptions hedge = {};
};

// How a source does at present.
struct RangedSourceState {
  int concurrency = 0;        // requests at once that it found to be best
  std::size_t in_flight = 0;  // requests that are under way or tried again
  std::size_t waiting = 0;    // for their turn
  // What one costs beside its bytes, in bytes.
  std::int64_t request_cost = 0;
};

// Reads objects over HTTP as a Protocol asks for them, as many at once as turn
// out to get the most bytes a second. Jobs share the requests by weight, by
// bytes and what a request costs besides (which is measured), within their
// caps; within a job the most urgent goes first. A request whose answer does
// not begin in time is made once more, beside the first. What came whole is
// compared with its CRC32C, where the server tells that, and read again when it
// differs.
//
// Thread-safe. `client`, `protocol` and `authorizer` (which may be null) must
// outlive it; bytes that it gave may outlive it. Destruction, on another thread
// than the engine's, fails the reads that are left with CANCELLED. Read does
// not block. Errors as ByteSource says. Each `done` is called on the engine's
// thread.
class RangedSource final : public ByteSource, public schedule::JobShares {
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

  // Waits for the engine's thread: not to be called on it.
  RangedSourceState State();

 private:
  // A read under way, in one part or several. Its parts are counted, not kept.
  struct Reading;
  struct Part {
    std::shared_ptr<Reading> reading;
    ByteRange range;
  };
  using Queue = schedule::SharedQueue<Part>;

  void Begin(ReadRequest request);
  absl::Status Check(const ReadRequest& request) const;
  void Enqueue(const std::shared_ptr<Reading>& reading);
  void Join(Queue::Id part, const ReadPurpose& purpose);
  void Dispatch();
  // How many requests may be under way is looked at now and then.
  void SetTimer();
  // Dispatches again when caps let more through.
  void WakeForCaps();
  std::int64_t Now() const { return client_->engine().clock().NowNanos(); }
  void Tune();
  // What a part costs, as far as is known now.
  schedule::Load LoadOf(const ByteRange& range) const;
  // A part is under way no longer.
  void Leave(const Queue::Popped& part, const schedule::Load& actual);
  void StartPart(const Queue::Popped& part);
  void OnPart(const Queue::Popped& part, const absl::StatusOr<Answer>& answer);
  // All parts have come.
  void Complete(const std::shared_ptr<Reading>& reading);
  void Fail(const std::shared_ptr<Reading>& reading, const absl::Status& error);
  void CancelAll();

  Client* const client_;
  const Protocol* const protocol_;
  Authorizer* const authorizer_;
  const RangedSourceOptions options_;
  // All of this is touched on the engine's thread alone.
  Queue queue_;
  std::unordered_set<std::shared_ptr<Reading>> readings_;
  std::unordered_map<std::uint64_t, Reading*> tickets_;  // of readings_
  std::unique_ptr<HedgedClient> calls_;  // null: the source is ending
  schedule::ConcurrencyTuner tuner_;
  RequestMeter meter_;
  std::uint64_t bytes_in_flight_ = 0;
  std::uint64_t arrived_ = 0;  // bytes, ever
  bool starved_ = false;       // since the tuner looked
  bool timer_set_ = false;
  std::int64_t caps_wake_at_ = INT64_MAX;
  // Timers ask it whether the source is still there.
  std::shared_ptr<const bool> here_ = std::make_shared<const bool>(true);
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_RANGED_SOURCE_H_
