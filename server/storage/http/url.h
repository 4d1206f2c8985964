#ifndef FOREBAY_SERVER_STORAGE_HTTP_URL_H_
#define FOREBAY_SERVER_STORAGE_HTTP_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::storage::http {

// Returns `text` as one component of a URL: all but letters, digits and -._~
// become %XX, "/" too.
std::string EscapeComponent(std::string_view text);

// Returns `path` with each component escaped and its slashes kept.
std::string EscapePath(std::string_view path);

// Returns `url` without slashes at its end, if paths can be appended to it:
// http or https, a host, no user, query or fragment. INVALID_ARGUMENT names it.
absl::StatusOr<std::string> ParseBaseUrl(std::string_view url);

// Whether a URL is one of https.
bool IsEncrypted(std::string_view url);

// Returns the host of such a URL.
std::string HostOf(const std::string& base_url);

// Returns scheme, host and port of a URL (RFC 6454), such as
// "https://host:443": in lower case, with the scheme's own port if the URL
// names none. Returns "" if the URL names no host.
std::string OriginOf(std::string_view url);

// Returns the path that a file:// URL names. INVALID_ARGUMENT names the URL: it
// is no such URL, or names another host.
absl::StatusOr<std::string> PathOfFileUrl(std::string_view url);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_URL_H_
