#ifndef FOREBAY_SERVER_DAEMON_LOCAL_READS_H_
#define FOREBAY_SERVER_DAEMON_LOCAL_READS_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "proto/config.pb.h"
#include "server/executor/executor.h"
#include "server/storage/all_job_shares.h"
#include "server/storage/byte_source.h"
#include "server/storage/local/local_source.h"
#include "server/storage/local/uring_source.h"
#include "server/storage/rechecked_source.h"
#include "server/storage/scheduled_source.h"

namespace forebay::daemon {

// The source of local files: an io_uring where this host allows it and the
// configuration wants it, else threads. Logs which, and why. A scheduler in
// front shares it out among jobs.
//
// Thread-safe. Owns the source; destruction ends its reads. Does not block. No
// errors: threads always work.
class LocalReads {
 public:
  // The most bytes of buffers that reads keep for the next ones.
  static constexpr std::size_t kKeptBytes = std::size_t{20} << 20;

  // `shares` learns what shares these reads out. It and the executor, which
  // looks again at files that were touched, outlive the last call.
  LocalReads(const proto::StorageConfig& config, executor::Executor* executor,
             storage::AllJobShares* shares);
  ~LocalReads();

  storage::ByteSource* source() { return &*rechecked_; }
  storage::SourceState state() const { return scheduled_->State(); }
  // CPU time that reading has taken.
  std::int64_t cpu_nanos() const;

  bool io_uring() const { return ring_ != nullptr; }
  // Why io_uring is not used: a clause. Empty: it is, or it is not wanted.
  const std::string& refusal() const { return refusal_; }

 private:
  // In front of the rest, and destroyed after it.
  std::optional<storage::RecheckedSource> rechecked_;
  // One of the two is null.
  std::unique_ptr<storage::local::UringSource> ring_;
  std::unique_ptr<storage::local::LocalSource> threads_;
  std::string refusal_;
  std::optional<storage::ScheduledSource> scheduled_;
};

}  // namespace forebay::daemon

#endif  // FOREBAY_SERVER_DAEMON_LOCAL_READS_H_
