// Fuzzes answers of S3 servers, and files of credentials. Reading them gives an
// error, or objects that lie below the prefix and can be requested.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/storage/http/entity_tags.h"
#include "server/storage/s3/fault.h"
#include "server/storage/s3/s3_listing.h"
#include "server/storage/s3/s3_protocol.h"
#include "server/storage/s3/s3_root.h"
#include "server/storage/s3/settings.h"
#include "tests/fuzz/require.h"

namespace {

namespace http = forebay::storage::http;
namespace s3 = forebay::storage::s3;
using forebay::fuzz::Require;

bool IsPrintable(std::string_view text) {
  for (const char c : text)
    if (c < ' ' || c > 126) return false;
  return true;
}

void TryList(std::string_view xml, http::EntityTags* tags) {
  const s3::Endpoint endpoint = {"http://host", "us-east-1"};
  const auto root = *s3::S3Root::Create("s3://bucket/p", endpoint);
  for (const std::string_view prefix : {"", "p/"}) {
    const auto page = s3::ParseListPage(xml, prefix, tags);
    if (!page.ok()) continue;
    // Each object takes at least 30 characters of the answer.
    Require(page->objects.size() * 30 <= xml.size());
    for (const auto& object : page->objects) {
      Require(!object.name.empty() && !object.name.ends_with('/'));
      Require(object.version.stamp >= 0);
      const std::string tag = tags->Find(object.version.stamp);
      Require(IsPrintable(tag) && tag == s3::PlainTag(tag));
      const auto url = root->UrlOf(object.name);
      Require(!url.ok() || url->starts_with("http://host/bucket/p/"));
      Require(!url.ok() || url->find_first_of("?# \r\n") == url->npos);
    }
    for (const std::string& folder : page->folders)
      Require(folder.size() > 1 || folder == "/");
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  http::EntityTags tags;
  TryList(text, &tags);
  for (const int status : {301, 400, 403, 404, 412, 500, 503}) {
    http::HttpResponse answer;
    answer.status = status;
    answer.body = text;
    const absl::Status fault = s3::FaultOf(answer);
    Require(!fault.ok() && fault.message().size() < 600);
    const std::string_view words(fault.message().data(),
                                 fault.message().size());
    Require(IsPrintable(words));
  }
  const auto profile = s3::FindProfile(text, "default");
  if (!profile.has_value()) return 0;
  for (const auto& [key, value] : *profile)
    Require((key + value).find('\n') == std::string::npos);
  return 0;
}
