#include "server/storage/http/http_root.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/http/link_local.h"

namespace forebay::storage::http {

absl::StatusOr<std::shared_ptr<const HttpRoot>> HttpRoot::Create(
    std::string_view url) {
  FOREBAY_ASSIGN_OR_RETURN(std::string base, ParseBaseUrl(url));
  if (IsLinkLocal(HostOf(base)))
    return absl::InvalidArgumentError(absl::StrCat(
        base, ": link-local addresses are not read: they tell this host's own ",
        "secrets"));
  return std::shared_ptr<const HttpRoot>(new HttpRoot(std::move(base)));
}

absl::StatusOr<std::string> HttpRoot::UrlOf(std::string_view object) const {
  std::string_view rest = object;
  for (;;) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty() || part == "." || part == ".." ||
        part.find('\0') != part.npos)
      return absl::InvalidArgumentError("is not the name of an object");
    if (slash == rest.npos) break;
    rest.remove_prefix(slash + 1);
  }
  return absl::StrCat(url_, "/", EscapePath(object));
}

}  // namespace forebay::storage::http
