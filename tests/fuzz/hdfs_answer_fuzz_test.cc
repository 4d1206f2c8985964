// Fuzzes answers of an HDFS cluster. Reading an answer gives an error, or
// entries whose names can be requested below their folder.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "server/storage/webhdfs/file_status.h"
#include "server/storage/webhdfs/hdfs_root.h"
#include "tests/fuzz/require.h"

namespace {

namespace webhdfs = forebay::storage::webhdfs;
using forebay::fuzz::Require;

void TryFolder(std::string_view json) {
  const auto root = *webhdfs::HdfsRoot::Create("hdfs://host/p", {});
  const auto list = webhdfs::ParseFolder(json);
  if (!list.ok()) return;
  Require(list->remaining >= 0);
  // Each entry takes at least 18 characters of the answer.
  Require(list->entries.size() * 18 <= json.size());
  for (const webhdfs::FileStatus& entry : list->entries) {
    Require(entry.version.stamp >= 0);
    Require(entry.version.size <= INT64_MAX);
    const auto url = root->OpenUrl(entry.name, 0, 1);
    if (!url.ok()) continue;  // the URL is too long
    Require(url->starts_with("http://host:9870/webhdfs/v1/p/"));
    Require(url->find_first_of("# \r\n") == url->npos);
    Require(url->find('?') == url->find("?op=OPEN&offset=0&length=1"));
    Require(root->ListUrlAfter("", entry.name).ok());
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  TryFolder(text);
  const auto status = webhdfs::ParseFileStatus(text);
  Require(!status.ok() || status->version.size <= INT64_MAX);
  const auto checksum = webhdfs::ParseChecksum(text);
  Require(!checksum.ok() || checksum->size() < size);
  forebay::storage::http::HttpResponse leading;
  leading.status = 307;
  leading.headers = {{"location", std::string(text)}};
  const auto place = webhdfs::DataNodeOf(leading);
  Require(!place.ok() || place->starts_with("http"));
  for (const int code : {307, 400, 401, 403, 404, 500}) {
    forebay::storage::http::HttpResponse answer;
    answer.status = code;
    answer.body = text;
    const absl::Status fault = webhdfs::FaultOf(answer);
    Require(!fault.ok() && fault.message().size() < 600);
    for (const char c : fault.message()) Require(c >= ' ' && c <= 126);
  }
  return 0;
}
