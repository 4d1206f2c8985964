#ifndef FOREBAY_SERVER_STORAGE_S3_KEPT_CREDENTIALS_H_
#define FOREBAY_SERVER_STORAGE_S3_KEPT_CREDENTIALS_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "server/base/clock.h"
#include "server/base/mutex.h"
#include "server/storage/http/authorizer.h"
#include "server/storage/http/awaited_call.h"
#include "server/storage/http/engine.h"
#include "server/storage/http/message.h"
#include "server/storage/s3/credentials.h"
#include "server/storage/s3/signature.h"

namespace forebay::storage::s3 {

// Signs all requests with the daemon's credentials; signs none while there are
// no credentials. If a server does not accept them, looks for new ones, on a
// thread of its own, while requests wait, for kMaxWaitNanos at most: a file may
// lie on a server that does not answer. If it finds that this host's clock is
// wrong, signs by the server's from then on.
//
// Any thread but the engine's may call Renew and name, which take turns; the
// rest is an Authorizer's. `engine` and `wall` (nanoseconds since 1970) must
// outlive it; all Authorize calls must be answered before it is destroyed, on
// another thread than the engine's. Renew and destruction may block for file
// I/O. Errors: those of `find`.
class KeptCredentials final : public http::Authorizer {
 public:
  static constexpr std::int64_t kMaxWaitNanos =
      http::kAwaitedPatience.silent_host_nanos;

  using Find = std::function<absl::StatusOr<Credentials>()>;

  // `find` looks for credentials, on any thread, and may block.
  KeptCredentials(http::Engine* engine, Find find, std::string region,
                  const base::Clock* wall);
  ~KeptCredentials() override;

  // Looks for credentials, and uses them from now on.
  absl::Status Renew();
  // Names the credentials, for people; "" before the first Renew.
  std::string name() const;

  void Authorize(const http::Request& request,
                 std::function<void(absl::StatusOr<Headers>)> ready) override;
  bool Refused(const Headers& headers, const http::Answer& answer) override;

 private:
  struct Waiting {
    http::Request request;
    std::function<void(absl::StatusOr<Headers>)> ready;
  };

  Headers Sign(const http::Request& request);
  void AnswerWaiting();
  // Returns whether this host's clock is wrong by more than was known.
  bool CorrectClock(const http::Answer& answer);
  bool AreNewer(const Headers& headers) const;
  void StartRenewal();
  void OnRenewed();

  http::Engine* const engine_;
  const Find find_;
  const std::string region_;
  const base::Clock* const wall_;

  mutable base::Mutex mutex_;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Signer> signer_ ABSL_GUARDED_BY(mutex_);  // null: no keys

  // Only the engine's thread uses these.
  std::int64_t ahead_seconds_ = 0;  // the server's clock of ours
  std::int64_t renewed_nanos_ = INT64_MIN / 2;
  bool renewing_ = false;
  std::int64_t renewals_ = 0;
  bool is_late_ = false;  // the renewal: no request waits for it any more
  std::vector<Waiting> waiting_;
  std::thread renewal_;
  // Tells timers whether this object still exists.
  std::shared_ptr<const bool> here_ = std::make_shared<const bool>(true);
};

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_KEPT_CREDENTIALS_H_
