#include "server/storage/http/url.h"

#include <curl/curl.h>

#include <climits>
#include <memory>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace forebay::storage::http {
namespace {

// Frees a URL that curl has parsed.
struct UrlDeleter {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};

// Returns one part of a URL, or "" if it has none.
std::string PartOf(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return "";
  std::string copy = text;
  curl_free(text);
  return copy;
}

}  // namespace

std::string EscapeComponent(std::string_view text) {
  std::string escaped;
  // No piece is empty: for the length 0, curl would look for a null byte.
  while (!text.empty()) {
    const std::string_view piece = text.substr(0, INT_MAX / 4);
    char* const part =
        curl_easy_escape(nullptr, piece.data(), static_cast<int>(piece.size()));
    if (part != nullptr) escaped += part;
    curl_free(part);
    text.remove_prefix(piece.size());
  }
  return escaped;
}

std::string EscapePath(std::string_view path) {
  std::string escaped;
  for (;;) {
    const std::size_t slash = path.find('/');
    escaped += EscapeComponent(path.substr(0, slash));
    if (slash == path.npos) return escaped;
    escaped += '/';
    path.remove_prefix(slash + 1);
  }
}

absl::StatusOr<std::string> ParseBaseUrl(std::string_view url) {
  std::string base(url);
  const auto refuse = [&base](absl::string_view reason) {
    return absl::InvalidArgumentError(absl::StrCat(base, ": ", reason));
  };
  const std::unique_ptr<CURLU, UrlDeleter> parsed(curl_url());
  if (base.find('\0') != base.npos ||
      curl_url_set(parsed.get(), CURLUPART_URL, base.c_str(), 0) != CURLUE_OK)
    return refuse("is not a URL");
  const std::string scheme = PartOf(parsed.get(), CURLUPART_SCHEME);
  if (scheme != "http" && scheme != "https")
    return refuse("is not an http or https URL");
  // Curl accepts any number of slashes, but the root's URL must have exactly
  // two.
  const std::size_t slashes = base.find_first_not_of('/', scheme.size() + 1);
  if (slashes != scheme.size() + 3)
    return refuse("has no two slashes before its host");
  // A name in other scripts may look like a name in ASCII, so it is refused.
  for (const char c : PartOf(parsed.get(), CURLUPART_HOST)) {
    if (!absl::ascii_isascii(static_cast<unsigned char>(c)))
      return refuse("its host has to be written in ASCII (xn--...)");
  }
  if (!PartOf(parsed.get(), CURLUPART_USER).empty() ||
      !PartOf(parsed.get(), CURLUPART_PASSWORD).empty())
    return refuse("may name no user or password");
  if (base.find_first_of("?#") != base.npos)
    return refuse("may have no query or fragment");
  while (base.ends_with('/')) base.pop_back();
  return base;
}

bool IsEncrypted(std::string_view url) {
  return absl::StartsWithIgnoreCase({url.data(), url.size()}, "https://");
}

std::string HostOf(const std::string& base_url) {
  const std::unique_ptr<CURLU, UrlDeleter> parsed(curl_url());
  if (curl_url_set(parsed.get(), CURLUPART_URL, base_url.c_str(), 0) !=
      CURLUE_OK)
    return "";
  return PartOf(parsed.get(), CURLUPART_HOST);
}

std::string OriginOf(std::string_view url) {
  const std::size_t end = url.find("://");
  if (end == url.npos) return "";
  std::string_view authority = url.substr(end + 3);
  authority = authority.substr(0, authority.find_first_of("/?#"));
  authority.remove_prefix(authority.rfind('@') + 1);  // npos + 1 is 0
  if (authority.empty()) return "";
  std::string origin(url.substr(0, end + 3));
  const bool is_encrypted = IsEncrypted(origin);
  origin += authority;
  // An address of IPv6 has colons, but within brackets.
  const std::size_t colon = authority.rfind(':');
  const bool has_port =
      colon != authority.npos && authority.find(']', colon) == authority.npos;
  if (!has_port) origin += is_encrypted ? ":443" : ":80";
  absl::AsciiStrToLower(&origin);
  return origin;
}

absl::StatusOr<std::string> PathOfFileUrl(std::string_view url) {
  const std::string text(url);
  const std::unique_ptr<CURLU, UrlDeleter> parsed(curl_url());
  const auto refuse = [&text] {
    return absl::InvalidArgumentError(
        absl::StrCat(text, ": is not a file:// URL of this host"));
  };
  if (parsed == nullptr || text.find('\0') != text.npos ||
      !text.starts_with("file://") ||
      curl_url_set(parsed.get(), CURLUPART_URL, text.c_str(),
                   CURLU_PATH_AS_IS | CURLU_ALLOW_SPACE |
                       CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK)
    return refuse();
  char* path = nullptr;
  if (curl_url_get(parsed.get(), CURLUPART_PATH, &path, CURLU_URLDECODE) !=
      CURLUE_OK)
    return refuse();
  std::string copy = path;
  curl_free(path);
  return copy;
}

}  // namespace forebay::storage::http
