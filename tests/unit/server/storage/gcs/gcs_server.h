#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_GCS_GCS_SERVER_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_GCS_GCS_SERVER_H_

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "tests/unit/server/storage/http/fault_choice.h"
#include "tests/unit/server/storage/http/faults.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::gcs {

// The JSON API of one bucket, "bucket", in memory. Lists come in pages. Media
// reads have generations, preconditions and checksums, which emulators lack.
// Thread-safe; a test sets its faults.
class GcsServer {
 public:
  using Asked = http::HttpServer::Asked;

  explicit GcsServer(std::size_t page_size = 1000);

  const std::string& url() const { return server_.url(); }
  // Stores an object, and returns its generation.
  std::int64_t Put(const std::string& name, std::string content);
  void Remove(const std::string& name);
  // From now on, requests must have this token; "" means that they need none.
  void SetToken(const std::string& token);
  // While the returned scope lives, spoils answers.
  http::FaultChoice::Scope SetFaults(http::FaultChoice::Choose choose) {
    return faults_.Set(std::move(choose));
  }
  int asked() const;

 private:
  struct Object {
    std::string content;
    std::int64_t generation = 0;
  };

  void Handle(const Asked& asked, http::HttpServer::Peer& peer);
  http::Reply ReplyTo(const Asked& asked);
  http::Reply List(const std::map<std::string, std::string>& query)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  http::Reply Tell(const std::string& name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  static nlohmann::json ItemOf(const std::string& name, const Object& object);
  http::Reply Media(const Asked& asked, const std::string& name,
                    const std::map<std::string, std::string>& query)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const std::size_t page_size_;
  http::FaultChoice faults_;
  mutable base::Mutex mutex_;
  std::map<std::string, Object> objects_ ABSL_GUARDED_BY(mutex_);
  std::string token_ ABSL_GUARDED_BY(mutex_);
  std::int64_t last_generation_ ABSL_GUARDED_BY(mutex_) = 1'700'000'000'000'000;
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  http::HttpServer server_;
};

}  // namespace forebay::storage::gcs

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_GCS_GCS_SERVER_H_
