#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_S3_S3_SERVER_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_S3_S3_SERVER_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "server/storage/s3/settings.h"
#include "server/storage/s3/signature.h"
#include "tests/unit/server/storage/http/fault_choice.h"
#include "tests/unit/server/storage/http/faults.h"
#include "tests/unit/server/storage/http/http_server.h"
#include "tests/unit/server/storage/http/request_target.h"

namespace forebay::storage::s3 {

// An S3 bucket, "bucket", in memory. Lists come in pages, and reads have ETags,
// preconditions and checksums. The server checks the names of keys, but not
// signatures, which the tests with moto check. Thread-safe; a test sets its
// faults.
class S3Server {
 public:
  using Asked = http::HttpServer::Asked;

  explicit S3Server(std::size_t page_size = 1000);

  Endpoint endpoint() const { return {server_.url(), "us-east-1"}; }
  // Stores an object, and returns the generation of its version.
  std::int64_t Put(const std::string& key, std::string content);
  void Remove(const std::string& key);
  // From now on, requests must have these keys. Keys without an ID mean that
  // they need none.
  void SetKeys(const Keys& keys);
  // From now on, answers all requests with `reply`. A status of 0 means good
  // answers.
  void SetAnswer(const http::Reply& reply);
  // While the returned scope lives, spoils answers.
  http::FaultChoice::Scope SetFaults(http::FaultChoice::Choose choose) {
    return faults_.Set(std::move(choose));
  }
  int asked() const;
  // Returns the number of requests that named the ETag they wanted.
  int asked_for_tag() const;

 private:
  struct Object {
    std::string content;
    std::string tag;
  };

  void Handle(const Asked& asked, http::HttpServer::Peer& peer);
  http::Reply ReplyTo(const Asked& asked);
  http::Reply Refuse(const Asked& asked) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Reply List(const http::RequestTarget& target) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Reply Get(const Asked& asked, const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::size_t page_size_;
  http::FaultChoice faults_;
  mutable base::Mutex mutex_;
  std::map<std::string, Object> objects_ ABSL_GUARDED_BY(mutex_);
  Keys keys_ ABSL_GUARDED_BY(mutex_);
  http::Reply answer_ ABSL_GUARDED_BY(mutex_) = {0, "", ""};
  int last_tag_ ABSL_GUARDED_BY(mutex_) = 0;
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  int asked_for_tag_ ABSL_GUARDED_BY(mutex_) = 0;
  http::HttpServer server_;
};

// Returns the body of an error.
std::string ErrorXml(const std::string& code, const std::string& message = "",
                     const std::string& more = "");

}  // namespace forebay::storage::s3

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_S3_S3_SERVER_H_
