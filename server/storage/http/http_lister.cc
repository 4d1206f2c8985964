#include "server/storage/http/http_lister.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/http/http_protocol.h"
#include "server/storage/http/http_root.h"

namespace forebay::storage::http {

absl::Status HttpLister::List(const Root&,
                              const std::function<void(ListedObject)>&,
                              const std::stop_token&) {
  return absl::UnimplementedError(
      "a web server does not list its files: name them");
}

absl::StatusOr<ObjectVersion> HttpLister::Stat(const Root& root,
                                               std::string_view object,
                                               const std::stop_token& stop) {
  const auto* const place = dynamic_cast<const HttpRoot*>(&root);
  if (place == nullptr) return absl::InvalidArgumentError("is not an http URL");
  auto version = StatObject(client_, *place, object, stop);
  if (version.ok() && version->stamp == 0)
    return absl::InvalidArgumentError(absl::StrCat(
        std::string(object),
        ": the server tells neither an ETag nor when it was last modified, so ",
        "that a change would not show"));
  return version;
}

}  // namespace forebay::storage::http
