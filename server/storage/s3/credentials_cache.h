#ifndef FOREBAY_SERVER_STORAGE_S3_CREDENTIALS_CACHE_H_
#define FOREBAY_SERVER_STORAGE_S3_CREDENTIALS_CACHE_H_

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
#include "server/storage/s3/s3_credentials.h"
#include "server/storage/s3/signature.h"

namespace forebay::storage::s3 {

// Signs all requests with the daemon's credentials, or none if the daemon has
// no credentials.
//
// If a server does not accept the credentials, a thread of this object looks
// for new ones, while requests wait. Requests wait for kMaxWaitNanos at most: a
// file of credentials may lie on a server that does not answer. If this host's
// clock proves wrong, requests are signed by the server's clock from then on.
//
// Any thread but that of `engine` may call Renew and name. Only the engine's
// thread calls the other functions, as Authorizer says. `engine` and `wall`
// (nanoseconds since 1970) outlive it. The object is destroyed on another
// thread than the engine's, after all Authorize calls are answered. Renew and
// destruction may block for file I/O. Errors are those of `find`.
class CredentialsCache final : public http::Authorizer {
 public:
  // The longest time, in nanoseconds, for which requests wait for new
  // credentials.
  static constexpr std::int64_t kMaxWaitNanos =
      http::kAwaitedPatience.silent_host_nanos;

  using Find = std::function<absl::StatusOr<Credentials>()>;

  // `find` looks for credentials, on any thread, and may block.
  CredentialsCache(http::Engine* engine, Find find, std::string region,
                   const base::Clock* wall);
  ~CredentialsCache() override;

  // Looks for credentials, and uses them from now on. If a search that began
  // later has already found credentials, keeps these and returns OK, even if
  // its own search fails.
  absl::Status Renew();
  // Returns the human-readable name of the credentials; "" before the first
  // Renew.
  std::string name() const;

  void Authorize(const http::HttpRequest& request,
                 std::function<void(absl::StatusOr<Headers>)> ready) override;
  bool Refused(const Headers& headers,
               const http::HttpResponse& answer) override;

 private:
  // A request that waits for new credentials.
  struct Waiting {
    http::HttpRequest request;
    std::function<void(absl::StatusOr<Headers>)> ready;
  };

  // Returns the headers that sign a request, or none if there are no keys.
  Headers Sign(const http::HttpRequest& request);
  // Signs the requests that wait.
  void AnswerWaiting();
  // Compares the answer's date with this host's clock. If the clock is wrong by
  // much more than was known, corrects `ahead_seconds_` and returns true.
  bool CorrectClock(const http::HttpResponse& answer);
  // Whether the keys in use now differ from those that made the headers.
  bool AreNewer(const Headers& headers) const;
  // Looks for new credentials on a thread of its own.
  void StartRenewal();
  // Takes note that the renewal has ended, and answers the requests that wait.
  void OnRenewed();

  http::Engine* const engine_;
  const Find find_;
  const std::string region_;
  const base::Clock* const wall_;

  mutable base::Mutex mutex_;
  // Number of searches for credentials that have begun.
  std::int64_t searches_ ABSL_GUARDED_BY(mutex_) = 0;
  // Number of the search, counted from 1, that found the credentials in use. 0
  // before a search has found any.
  std::int64_t used_search_ ABSL_GUARDED_BY(mutex_) = 0;
  std::string name_ ABSL_GUARDED_BY(mutex_);
  std::unique_ptr<Signer> signer_ ABSL_GUARDED_BY(mutex_);  // null without keys

  // Only the engine's thread uses the members from here on. `ahead_seconds_` is
  // how far the server's clock is ahead of this host's.
  std::int64_t ahead_seconds_ = 0;
  std::int64_t renewed_nanos_ = INT64_MIN / 2;
  bool renewing_ = false;
  std::int64_t renewals_ = 0;
  // Whether the renewal takes so long that no request waits for it any more.
  bool is_late_ = false;
  std::vector<Waiting> waiting_;
  std::thread renewal_;
  // Tells timers whether this object still exists.
  std::shared_ptr<const bool> here_ = std::make_shared<const bool>(true);
};

}  // namespace forebay::storage::s3

#endif  // FOREBAY_SERVER_STORAGE_S3_CREDENTIALS_CACHE_H_
