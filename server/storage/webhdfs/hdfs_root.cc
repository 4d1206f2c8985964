#include "server/storage/webhdfs/hdfs_root.h"

#include <cstddef>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/storage/http/link_local.h"
#include "server/storage/http/url.h"

namespace forebay::storage::webhdfs {
namespace {

// The longest path, in bytes: HDFS refuses longer ones.
constexpr std::size_t kMaxPathBytes = 8000;

// Whether `path` consists of names between slashes, none of which is empty or
// leads elsewhere.
bool IsBelow(std::string_view path) {
  for (;;) {
    const std::size_t slash = path.find('/');
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == ".." ||
        part.find('\0') != part.npos)
      return false;
    if (slash == path.npos) return true;
    path.remove_prefix(slash + 1);
  }
}

// Returns the URL of the web server that a URI names, without a path.
absl::StatusOr<std::string> ServerOf(std::string_view scheme,
                                     std::string_view authority,
                                     const WebHdfsSettings& settings) {
  if (scheme != "hdfs")
    return http::ParseBaseUrl(absl::StrCat(
        scheme == "swebhdfs" ? "https://" : "http://", std::string(authority)));
  if (!settings.endpoint.empty()) return http::ParseBaseUrl(settings.endpoint);
  // The URI's port, which belongs to Hadoop's own protocol, is left out.
  FOREBAY_ASSIGN_OR_RETURN(
      const std::string named,
      http::ParseBaseUrl(absl::StrCat("http://", std::string(authority))));
  const std::string host = http::HostOf(named);
  if (host.empty())
    return absl::InvalidArgumentError(
        "names no host, and hdfs.endpoint is not set");
  return absl::StrCat("http://", host, ":9870");
}

}  // namespace

HdfsRoot::HdfsRoot(std::string uri, std::string url, std::string user_query,
                   std::string_view reader, bool is_chosen_by_client)
    : uri_(std::move(uri)),
      url_(std::move(url)),
      origin_(http::OriginOf(url_)),
      user_query_(std::move(user_query)),
      identity_(std::make_shared<const std::string>(url_ + '\0' +
                                                    std::string(reader))),
      is_chosen_by_client_(is_chosen_by_client) {}

absl::StatusOr<std::shared_ptr<const HdfsRoot>> HdfsRoot::Create(
    std::string_view uri, const WebHdfsSettings& settings) {
  std::string name(uri);
  const std::size_t end = uri.find("://");
  const std::string_view scheme = uri.substr(0, end);
  if (end == uri.npos ||
      (scheme != "hdfs" && scheme != "webhdfs" && scheme != "swebhdfs"))
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": is not a URI hdfs://namenode/path"));
  std::string_view path = uri.substr(end + 3);
  const std::string_view authority = path.substr(0, path.find('/'));
  path.remove_prefix(authority.size());
  while (path.ends_with('/')) path.remove_suffix(1);
  if (!path.empty() &&
      (path.size() > kMaxPathBytes || !IsBelow(path.substr(1))))
    return absl::InvalidArgumentError(
        absl::StrCat(name, ": no folder can have that path"));
  const auto server = ServerOf(scheme, authority, settings);
  if (!server.ok()) return base::Annotate(server.status(), name);
  const bool is_configured =
      !settings.endpoint.empty() &&
      http::ParseBaseUrl(settings.endpoint).value_or("") == *server;
  if (!is_configured && http::IsLinkLocal(http::HostOf(*server)))
    return absl::InvalidArgumentError(absl::StrCat(
        name, ": link-local addresses are not read: they tell this host's own ",
        "secrets"));
  std::string query;
  if (is_configured && !settings.token.empty())
    query = absl::StrCat("&delegation=", http::EscapeComponent(settings.token));
  else if (!settings.user.empty())
    query = absl::StrCat("&user.name=", http::EscapeComponent(settings.user));
  return std::shared_ptr<const HdfsRoot>(
      new HdfsRoot(std::move(name),
                   absl::StrCat(*server, "/webhdfs/v1", http::EscapePath(path)),
                   std::move(query), settings.user, !is_configured));
}

absl::StatusOr<std::string> HdfsRoot::UrlOf(std::string_view name,
                                            std::string_view operation) const {
  while (name.ends_with('/')) name.remove_suffix(1);
  if (!name.empty() && (name.size() > kMaxPathBytes || !IsBelow(name)))
    return absl::InvalidArgumentError("is not the name of a file");
  return absl::StrCat(url_, "/", http::EscapePath(name),
                      "?op=", std::string(operation), user_query_);
}

absl::StatusOr<std::string> HdfsRoot::StatusUrl(std::string_view object) const {
  if (object.empty() || object.ends_with('/'))
    return absl::InvalidArgumentError("is not the name of a file");
  return UrlOf(object, "GETFILESTATUS");
}

absl::StatusOr<std::string> HdfsRoot::ChecksumUrl(
    std::string_view object) const {
  if (object.empty() || object.ends_with('/'))
    return absl::InvalidArgumentError("is not the name of a file");
  return UrlOf(object, "GETFILECHECKSUM");
}

absl::StatusOr<std::string> HdfsRoot::OpenUrl(std::string_view object,
                                              std::uint64_t offset,
                                              std::uint64_t length) const {
  if (object.empty() || object.ends_with('/'))
    return absl::InvalidArgumentError("is not the name of a file");
  return UrlOf(object,
               absl::StrCat("OPEN&offset=", offset, "&length=", length));
}

absl::StatusOr<std::string> HdfsRoot::ListUrl(std::string_view folder) const {
  return UrlOf(folder, "LISTSTATUS");
}

absl::StatusOr<std::string> HdfsRoot::ListUrlAfter(
    std::string_view folder, std::string_view name) const {
  return UrlOf(folder, name.empty()
                           ? std::string("LISTSTATUS_BATCH")
                           : absl::StrCat("LISTSTATUS_BATCH&startAfter=",
                                          http::EscapeComponent(name)));
}

}  // namespace forebay::storage::webhdfs
