#ifndef FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_OBJECT_SERVER_H_
#define FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_OBJECT_SERVER_H_

#include <map>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "server/base/mutex.h"
#include "tests/unit/server/storage/http/fault_choice.h"
#include "tests/unit/server/storage/http/faults.h"
#include "tests/unit/server/storage/http/http_server.h"

namespace forebay::storage::http {

// A web server of objects in memory, with entity tags and ranges, below
// "/data". Thread-safe; a test sets its faults.
class ObjectServer {
 public:
  ObjectServer();

  std::string url() const { return server_.url() + "/data"; }
  // Stores an object. `path` is escaped as in URLs.
  void Put(const std::string& path, std::string content);
  void Remove(const std::string& path);

  // While the returned scope lives, spoils answers.
  FaultChoice::Scope SetFaults(FaultChoice::Choose choose) {
    return faults_.Set(std::move(choose));
  }
  // Returns the number of requests so far.
  int asked() const;

 private:
  struct Object {
    std::string content;
    int version = 0;
  };

  void Handle(const HttpServer::Asked& asked, HttpServer::Peer& peer);
  Reply ReplyTo(const HttpServer::Asked& asked);

  FaultChoice faults_;
  mutable base::Mutex mutex_;
  std::map<std::string, Object> objects_ ABSL_GUARDED_BY(mutex_);
  int last_version_ ABSL_GUARDED_BY(mutex_) = 0;
  int asked_ ABSL_GUARDED_BY(mutex_) = 0;
  HttpServer server_;
};

// Cuts `reply`, whose body is a whole object, to the range of the "Range"
// header.
Reply CutToRange(const HttpServer::Asked& asked, Reply reply);

}  // namespace forebay::storage::http

#endif  // FOREBAY_TESTS_UNIT_SERVER_STORAGE_HTTP_OBJECT_SERVER_H_
