#ifndef FOREBAY_SERVER_STORAGE_HTTP_HTTP_ROOT_H_
#define FOREBAY_SERVER_STORAGE_HTTP_HTTP_ROOT_H_

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/statusor.h"
#include "server/storage/byte_source.h"
#include "server/storage/http/url.h"

namespace forebay::storage::http {

// The objects of a web server whose URLs all begin with the URL of this root.
//
// Thread-safe and immutable; its readers share it. Never blocks. Errors are
// those of Create and UrlOf.
class HttpRoot final : public Root {
 public:
  // Returns the root. INVALID_ARGUMENT names the URL and says why it cannot be
  // a root.
  static absl::StatusOr<std::shared_ptr<const HttpRoot>> Create(
      std::string_view url);

  const std::string& uri() const override { return url_; }
  std::shared_ptr<const std::string> identity() const override {
    return identity_;
  }
  // Returns the same identity, since a URL means the same after a restart.
  std::shared_ptr<const std::string> lasting_identity() const override {
    return identity();
  }

  // Returns the origin (OriginOf) that all URLs below the root have.
  const std::string& origin() const { return origin_; }

  // Returns the URL of an object. INVALID_ARGUMENT: the name leads out of the
  // root; the message is only the reason.
  absl::StatusOr<std::string> UrlOf(std::string_view object) const;

 private:
  explicit HttpRoot(std::string url)
      : url_(std::move(url)),
        origin_(OriginOf(url_)),
        identity_(std::make_shared<const std::string>(url_)) {}

  const std::string url_;  // without a slash at its end
  const std::string origin_;
  const std::shared_ptr<const std::string> identity_;
};

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_HTTP_ROOT_H_
