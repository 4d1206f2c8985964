// Fuzzes the URI of a dataset and the URLs that are requested for it. Each URL
// lies below the dataset's place, on the same host, and never at a link-local
// address.

#include <curl/curl.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "server/storage/gcs/gcs_root.h"
#include "server/storage/http/http_root.h"
#include "server/storage/http/link_local.h"
#include "server/storage/http/url.h"
#include "server/storage/root_opener.h"
#include "server/storage/s3/s3_root.h"
#include "server/storage/s3/settings.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_message.h"

namespace {

namespace gcs = forebay::storage::gcs;
namespace http = forebay::storage::http;
namespace s3 = forebay::storage::s3;
using forebay::fuzz::Require;

// Returns a URL's path as curl, which makes the requests, understands it.
std::string PathOf(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(
      curl_url(), &curl_url_cleanup);
  Require(curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) ==
          CURLUE_OK);
  char* text = nullptr;
  Require(curl_url_get(parsed.get(), CURLUPART_PATH, &text, 0) == CURLUE_OK);
  std::string path = text;
  curl_free(text);
  return path;
}

void TryHttp(std::string_view uri, std::string_view object) {
  const auto root = http::HttpRoot::Create(uri);
  if (!root.ok()) return;
  const std::string& base = (*root)->uri();
  const std::string host = http::HostOf(base);
  Require(!host.empty() && !http::IsLinkLocal(host));
  const auto url = (*root)->UrlOf(object);
  if (!url.ok()) return;
  Require(url->starts_with(base + "/") && http::HostOf(*url) == host);
  Require(url->find_first_of("?# \r\n") == url->npos);
  // curl resolves "/..", so the resolved path must still lie below the place.
  std::string below = PathOf(base);
  if (!below.ends_with('/')) below += '/';
  Require(PathOf(*url).starts_with(below));
}

void TryBucket(std::string_view uri, std::string_view object) {
  const auto root =
      gcs::GcsRoot::Create(uri, "https://storage.googleapis.com", "");
  if (!root.ok()) return;
  const std::string begin =
      "https://storage.googleapis.com/storage/v1/b/" + (*root)->bucket() + "/o";
  Require((*root)->prefix().empty() || (*root)->prefix().ends_with('/'));
  const auto media = (*root)->MediaUrl(object, INT64_MIN);
  const auto stat = (*root)->StatUrl(object);
  Require(media.ok() == stat.ok());
  if (media.ok()) {
    Require(media->starts_with(begin + "/") && stat->starts_with(begin + "/"));
    Require(media->find('/', begin.size() + 1) == media->npos);
    Require(http::HostOf(*media) == "storage.googleapis.com");
  }
  const std::string list = (*root)->ListUrl(object, true, object);
  Require(list.starts_with(begin + "?prefix="));
  Require(http::HostOf(list) == "storage.googleapis.com");
}

void TryS3(std::string_view uri, std::string_view object) {
  using Style = s3::Endpoint::Style;
  for (const Style style : {Style::kPath, Style::kVirtual, Style::kPathIfDot}) {
    const auto root =
        s3::S3Root::Create(uri, {"https://s3.host", "us-east-1", style});
    if (!root.ok()) return;
    const std::string& bucket = (*root)->bucket();
    const bool in_path =
        style == Style::kPath ||
        (style == Style::kPathIfDot && bucket.find('.') != bucket.npos);
    const std::string host = in_path ? "s3.host" : bucket + ".s3.host";
    const std::string begin =
        "https://" + host + "/" + (in_path ? bucket + "/" : "");
    const std::string list = (*root)->ListUrl(object, true, object);
    Require(list.starts_with(begin + "?") && http::HostOf(list) == host);
    const auto url = (*root)->UrlOf(object);
    if (!url.ok()) continue;
    Require(url->starts_with(begin) && http::HostOf(*url) == host);
    Require(url->find_first_of("?# \r\n") == url->npos);
    // curl resolves "/..", so the resolved path must still lie in the bucket.
    Require(PathOf(*url).starts_with(in_path ? "/" + bucket + "/" : "/"));
  }
}

}  // namespace

// The input is a URI and, after a line "--", the name of an object.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto parts = forebay::fuzz::SplitParts(text);
  const std::string_view object = parts.size() > 1 ? parts[1] : "a/b.jpg";
  forebay::storage::IsRemoteUri(parts[0]);
  TryHttp(parts[0], object);
  TryBucket(parts[0], object);
  TryS3(parts[0], object);
  const auto endpoint = gcs::EndpointFrom(std::string(parts[0]).c_str());
  Require(!endpoint.ok() || !http::HostOf(*endpoint).empty());
  return 0;
}
