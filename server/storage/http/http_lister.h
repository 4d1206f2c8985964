#ifndef FOREBAY_SERVER_STORAGE_HTTP_HTTP_LISTER_H_
#define FOREBAY_SERVER_STORAGE_HTTP_HTTP_LISTER_H_

#include <functional>
#include <stop_token>
#include <string_view>

#include "absl/status/statusor.h"
#include "server/storage/http/client.h"
#include "server/storage/object_lister.h"

namespace forebay::storage::http {

// Asks plain web servers about objects below HttpRoots: whether one exists, and
// which version it has. These servers give no list.
//
// Thread-safe. The client outlives it. Calls block, as ObjectLister says.
// Errors are those of ObjectLister; INVALID_ARGUMENT also if a server tells no
// size, or nothing that would show a change.
class HttpLister final : public ObjectLister {
 public:
  explicit HttpLister(Client* client) : client_(client) {}

  absl::Status List(const Root& root,
                    const std::function<void(ListedObject)>& each,
                    const std::stop_token& stop) override;
  absl::StatusOr<ObjectVersion> Stat(const Root& root, std::string_view object,
                                     const std::stop_token& stop) override;

 private:
  Client* const client_;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_HTTP_LISTER_H_
