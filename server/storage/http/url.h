#ifndef FOREBAY_SERVER_STORAGE_HTTP_URL_H_
#define FOREBAY_SERVER_STORAGE_HTTP_URL_H_

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace forebay::storage::http {

// Returns `text` as one component of a URL. All bytes but letters, digits and
// -._~ become %XX, "/" included (RFC 3986, 2.1 and 2.3).
std::string EscapeComponent(std::string_view text);

// Returns `path` with each component escaped and its slashes kept.
std::string EscapePath(std::string_view path);

// Returns `url` without slashes at its end, if paths can be appended to it. The
// URL has http or https, a host, and no user, query or fragment.
// INVALID_ARGUMENT names the URL.
absl::StatusOr<std::string> ParseBaseUrl(std::string_view url);

// Whether the scheme of a URL is https.
bool IsEncrypted(std::string_view url);

// Returns the host of a URL that ParseBaseUrl gave.
std::string HostOf(const std::string& base_url);

// Returns the origin of a URL (RFC 6454, section 4): scheme, host and port,
// such as "https://host:443". The origin is in lower case, and has the scheme's
// own port if the URL names no port. Returns "" if the URL names no host.
std::string OriginOf(std::string_view url);

// Returns the path that a file:// URL names. INVALID_ARGUMENT names the URL, if
// it is not such a URL or names another host.
absl::StatusOr<std::string> PathOfFileUrl(std::string_view url);

}  // namespace forebay::storage::http

#endif  // FOREBAY_SERVER_STORAGE_HTTP_URL_H_
