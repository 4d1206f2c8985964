#ifndef FOREBAY_SERVER_STORAGE_HTTP_RANGED_SOURCE_H_
#define FOREBAY_SERVER_STORAGE_HTTP_RANGED_SOURCE_H_

#include <cstdint>
#include <memory>
#include <unordered_set>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "server/schedule/fair_queue.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/client.h"
#include "server/storage/http/protocol.h"

namespace forebay::storage::http {

struct RangedSourceOptions {
  int concurrency = 32;  // requests at once, at least 1
  // Longer reads are made in several requests at once.
  std::uint64_t part_bytes = std::uint64_t{8} << 20;
};

// Reads objects over HTTP as a Protocol asks for them. Jobs share the requests
// by weight and bytes; within a job the most urgent goes first. What came whole
// is compared with its CRC32C, where the server tells that, and read again when
// it differs.
//
// Thread-safe. `client`, `protocol` and `authorizer` (which may be null) must
// outlive it; bytes that it gave may outlive it. Destruction, on another thread
// than the engine's, fails the reads that are left with CANCELLED. Read does
// not block. Errors as ByteSource says. Each `done` is called on the engine's
// thread.
class RangedSource final : public ByteSource {
 public:
  RangedSource(Client* client, const Protocol* protocol,
               Authorizer* authorizer = nullptr,
               const RangedSourceOptions& options = {});
  ~RangedSource() override;

  void Read(absl::Span<ReadRequest> requests) override;
  void SetWeight(std::uint64_t job, double weight) override;
  void Forget(std::uint64_t job) override;

 private:
  // A read under way, in one part or several. Its parts are counted, not kept.
  struct Reading;
  struct Part {
    std::shared_ptr<Reading> reading;
    ByteRange range;
  };
  using Queue = schedule::FairQueue<Part>;

  void Begin(ReadRequest request);
  absl::Status Check(const ReadRequest& request) const;
  void Enqueue(const std::shared_ptr<Reading>& reading);
  void Dispatch();
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
  bool ending_ = false;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_RANGED_SOURCE_H_
