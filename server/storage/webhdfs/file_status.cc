#include "server/storage/webhdfs/file_status.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "server/base/json.h"
#include "server/base/status.h"
#include "server/storage/http/answer_error.h"
#include "server/storage/http/entity_tags.h"
#include "server/storage/http/object_list.h"

namespace forebay::storage::webhdfs {
namespace {

using http::BrokenList;
using Json = nlohmann::json;

const Json* ChildOf(const Json& parent, const char* key) {
  if (!parent.is_object()) return nullptr;
  const auto found = parent.find(key);
  return found == parent.end() ? nullptr : &*found;
}

std::string TextIn(const Json& parent, const char* key) {
  const Json* const child = ChildOf(parent, key);
  return child != nullptr && child->is_string() ? child->get<std::string>()
                                                : "";
}

// Returns whether there is such a number that is at least 0.
bool ReadNumber(const Json& parent, const char* key, std::int64_t* number) {
  const Json* const child = ChildOf(parent, key);
  if (child == nullptr || !child->is_number_integer()) return false;
  if (child->is_number_unsigned() &&
      child->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return false;
  *number = child->get<std::int64_t>();
  return *number >= 0;
}

absl::StatusOr<FileStatus> ReadStatus(const Json& item) {
  if (!item.is_object()) return BrokenList("an entry is no object");
  FileStatus status;
  status.name = TextIn(item, "pathSuffix");
  const std::string type = TextIn(item, "type");
  if (type == "DIRECTORY") {
    status.kind = FileStatus::Kind::kFolder;
    return status;
  }
  if (type != "FILE") return status;
  status.kind = FileStatus::Kind::kFile;
  std::int64_t length = 0;
  std::int64_t modified = 0;
  std::int64_t number = 0;
  if (!ReadNumber(item, "length", &length))
    return BrokenList("a file has no length");
  if (!ReadNumber(item, "modificationTime", &modified))
    return BrokenList("a file has no time of modification");
  ReadNumber(item, "fileId", &number);  // gateways may leave it out
  status.version.size = static_cast<std::uint64_t>(length);
  status.version.stamp = http::StampOfTag(absl::StrCat(number, " ", modified));
  return status;
}

// Whether it can be the name of something in a folder.
bool IsName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

}  // namespace

absl::StatusOr<FileStatus> ParseFileStatus(std::string_view json) {
  const auto parsed = base::ParseJsonObject(json);
  if (!parsed.ok())
    return BrokenList(absl::StrCat("a status ", parsed.status().message()));
  const Json* const status = ChildOf(*parsed, "FileStatus");
  if (status == nullptr) return BrokenList("an answer has no status");
  return ReadStatus(*status);
}

absl::StatusOr<FolderList> ParseFolder(std::string_view json) {
  const auto parsed = base::ParseJsonObject(json);
  if (!parsed.ok())
    return BrokenList(absl::StrCat("an answer ", parsed.status().message()));
  FolderList list;
  const Json* whole = &*parsed;
  if (const Json* const part = ChildOf(*whole, "DirectoryListing")) {
    if (!ReadNumber(*part, "remainingEntries", &list.remaining))
      return BrokenList("a part does not say how much is left");
    whole = ChildOf(*part, "partialListing");
    if (whole == nullptr) return BrokenList("a part has no entries");
  }
  const Json* const statuses = ChildOf(*whole, "FileStatuses");
  const Json* const items =
      statuses == nullptr ? nullptr : ChildOf(*statuses, "FileStatus");
  if (items == nullptr || !items->is_array())
    return BrokenList("an answer has no entries");
  list.entries.reserve(items->size());
  for (const Json& item : *items) {
    FOREBAY_ASSIGN_OR_RETURN(FileStatus status, ReadStatus(item));
    if (!IsName(status.name))
      return BrokenList("an entry has a name that none can have");
    list.entries.push_back(std::move(status));
  }
  return list;
}

absl::Status FaultOf(const http::Answer& answer) {
  const auto parsed = base::ParseJsonObject(answer.body);
  const Json* const remote =
      parsed.ok() ? ChildOf(*parsed, "RemoteException") : nullptr;
  if (answer.status == 401)
    return absl::PermissionDeniedError(
        "reading it is denied: the cluster wants a token of delegation: set "
        "hdfs.endpoint and hdfs.token_file in the daemon's configuration");
  if (remote == nullptr) return http::ErrorOf(answer);
  const std::string name = TextIn(*remote, "exception");
  const std::string message = TextIn(*remote, "message");
  // The file has become shorter than the offset of a read.
  if (name == "IOException" &&
      message.find("out of the range [0, ") != message.npos)
    return absl::FailedPreconditionError(
        "was replaced or changed since the dataset was indexed");
  http::Answer told;
  told.status = answer.status;
  told.headers = answer.headers;
  told.body = absl::StrCat(name, ": ", message);
  if (name == "FileNotFoundException") {
    told.status = 404;
  } else if (name == "StandbyException" || name == "RetriableException" ||
             name == "SafeModeException" || name == "IOException" ||
             name == "BlockMissingException" || name == "ConnectException") {
    told.status = 503;  // these may pass
  }
  return http::ErrorOf(told);
}

}  // namespace forebay::storage::webhdfs
