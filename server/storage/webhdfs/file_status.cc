#include "server/storage/webhdfs/file_status.h"

#include <cstddef>
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

// Returns a field of an object, or null if there is none.
const Json* ChildOf(const Json& parent, const char* key) {
  if (!parent.is_object()) return nullptr;
  const auto found = parent.find(key);
  return found == parent.end() ? nullptr : &*found;
}

// Returns the text of a field, or "" if the field is missing or not a string.
std::string TextIn(const Json& parent, const char* key) {
  const Json* const child = ChildOf(parent, key);
  return child != nullptr && child->is_string() ? child->get<std::string>()
                                                : "";
}

// Sets `*number` to an integer field. Returns whether there is such a field,
// and it is at least 0.
bool ReadNumber(const Json& parent, const char* key, std::int64_t* number) {
  const Json* const child = ChildOf(parent, key);
  if (child == nullptr || !child->is_number_integer()) return false;
  if (child->is_number_unsigned() &&
      child->get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    return false;
  *number = child->get<std::int64_t>();
  return *number >= 0;
}

// Returns a "FileStatus" object of the WebHDFS REST API.
absl::StatusOr<FileStatus> ReadStatus(const Json& item) {
  if (!item.is_object()) return BrokenList("an entry is not an object");
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
  // Numbers of files begin at 16,385, which is the root's.
  status.has_number = ReadNumber(item, "fileId", &number) && number > 0;
  status.version.size = static_cast<std::uint64_t>(length);
  status.version.stamp = http::StampOfTag(absl::StrCat(number, " ", modified));
  return status;
}

// Whether an entry of a folder can have that name.
bool IsName(const std::string& name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of(std::string_view("/\0", 2)) == name.npos;
}

// Gathers the entries of a folder's list while it is parsed, and keeps nothing
// else: a parsed document would take twenty times the size of the text. Stops
// at the first malformed entry.
class FolderEvents final : public base::JsonEvents {
 public:
  const absl::Status& status() const { return status_; }

  // Returns the list, once everything is read.
  absl::StatusOr<FolderList> Take() {
    if (is_part_ && !ReadNumber(part_, "remainingEntries", &list_.remaining))
      return BrokenList("a part does not say how much is left");
    if (!has_entries_) return BrokenList("an answer has no entries");
    // A server that is asked for the list of a file returns the file itself.
    if (is_file_) return absl::InvalidArgumentError("is a file, and no folder");
    return std::move(list_);
  }

  bool key(std::string& name) override {
    key_ = std::move(name);
    return true;
  }
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(std::int64_t number) override { return Add(number); }
  bool number_unsigned(std::uint64_t number) override { return Add(number); }
  bool number_float(double number, const std::string&) override {
    return Add(number);
  }
  bool string(std::string& text) override { return Add(std::move(text)); }

  bool start_object(std::size_t size) override {
    Open();
    if (IsEntry()) item_ = Json::object();
    if (open_ == Path{"", "DirectoryListing"}) is_part_ = true;
    return JsonEvents::start_object(size);
  }
  bool end_object() override {
    if (IsEntry() && !AddEntry()) return false;
    Close();
    return JsonEvents::end_object();
  }
  bool start_array(std::size_t size) override {
    if (AreEntries()) return Fail("an entry is not an object");
    Open();
    if (entries_depth_ == 0 &&
        (open_ == Path{"", "FileStatuses", "FileStatus"} ||
         open_ == Path{"", "DirectoryListing", "partialListing", "FileStatuses",
                       "FileStatus"})) {
      entries_depth_ = open_.size();
      has_entries_ = true;
    }
    return JsonEvents::start_array(size);
  }
  bool end_array() override {
    if (AreEntries()) entries_depth_ = 0;
    Close();
    return JsonEvents::end_array();
  }

 private:
  using Path = std::vector<std::string>;

  // Whether the parser is directly in the array of entries (AreEntries), or
  // directly in an entry (IsEntry).
  bool AreEntries() const {
    return entries_depth_ > 0 && open_.size() == entries_depth_;
  }
  bool IsEntry() const {
    return entries_depth_ > 0 && open_.size() == entries_depth_ + 1;
  }

  void Open() { open_.push_back(std::exchange(key_, "")); }
  void Close() {
    open_.pop_back();
    key_.clear();
  }
  bool Fail(absl::string_view reason) {
    status_ = BrokenList(reason);
    return false;
  }

  // Keeps the value if it is needed.
  bool Add(Json value) {
    if (AreEntries()) return Fail("an entry is not an object");
    if (IsEntry() &&
        (key_ == "pathSuffix" || key_ == "type" || key_ == "length" ||
         key_ == "modificationTime" || key_ == "fileId"))
      item_[key_] = std::move(value);
    else if (key_ == "remainingEntries" &&
             open_ == Path{"", "DirectoryListing"})
      part_[key_] = std::move(value);
    return true;
  }

  // Adds the entry that ends here. Returns false if it is malformed.
  bool AddEntry() {
    auto entry = ReadStatus(item_);
    if (!entry.ok()) {
      status_ = entry.status();
      return false;
    }
    if (list_.entries.empty() && !is_file_ && entry->name.empty() &&
        entry->kind == FileStatus::Kind::kFile) {
      is_file_ = true;
      return true;
    }
    if (is_file_ || !IsName(entry->name))
      return Fail("an entry has a name that none can have");
    list_.entries.push_back(*std::move(entry));
    return true;
  }

  // The names of the objects and arrays that are open.
  Path open_;
  // The name of the value that comes next; "" if it lies in an array.
  std::string key_;
  // The depth of the array of entries; 0 if it is not open.
  std::size_t entries_depth_ = 0;
  // The entry that is open.
  Json item_;
  Json part_;
  bool is_part_ = false;
  bool has_entries_ = false;
  bool is_file_ = false;
  FolderList list_;
  absl::Status status_;
};

}  // namespace

ObjectVersion VersionByChecksum(const FileStatus& status,
                                std::string_view checksum) {
  ObjectVersion version = status.version;
  version.stamp =
      http::StampOfTag(absl::StrCat(version.stamp, " ", std::string(checksum)));
  return version;
}

absl::StatusOr<FileStatus> ParseFileStatus(std::string_view json) {
  const auto parsed = base::ParseJsonObject(json);
  if (!parsed.ok())
    return BrokenList(absl::StrCat("a status ", parsed.status().message()));
  const Json* const status = ChildOf(*parsed, "FileStatus");
  if (status == nullptr) return BrokenList("an answer has no status");
  return ReadStatus(*status);
}

absl::StatusOr<FolderList> ParseFolder(std::string_view json) {
  FolderEvents events;
  const absl::Status read = base::ReadJsonObject(json, &events);
  FOREBAY_RETURN_IF_ERROR(events.status());
  if (!read.ok()) return BrokenList(absl::StrCat("an answer ", read.message()));
  return events.Take();
}

absl::StatusOr<std::string> ParseChecksum(std::string_view json) {
  const auto parsed = base::ParseJsonObject(json);
  if (!parsed.ok())
    return BrokenList(absl::StrCat("a checksum ", parsed.status().message()));
  const Json* const checksum = ChildOf(*parsed, "FileChecksum");
  if (checksum == nullptr) return BrokenList("an answer has no checksum");
  if (checksum->is_null()) return std::string();
  const std::string algorithm = TextIn(*checksum, "algorithm");
  const std::string bytes = TextIn(*checksum, "bytes");
  if (algorithm.empty() || bytes.empty())
    return BrokenList("a checksum has no bytes or no algorithm");
  return absl::StrCat(algorithm, " ", bytes);
}

absl::StatusOr<std::string> DataNodeOf(const http::HttpResponse& answer) {
  const std::string* const place = answer.Header("location");
  if (answer.status != 307 || place == nullptr) return FaultOf(answer);
  if (!place->starts_with("http://") && !place->starts_with("https://"))
    return absl::InvalidArgumentError(
        "the name node leads to a place that is not an http or https URL");
  return *place;
}

absl::Status FaultOf(const http::HttpResponse& answer) {
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
  if (name == "InvalidToken")
    return absl::PermissionDeniedError(
        "the daemon's token of delegation has expired or was cancelled: write "
        "a "
        "new one to hdfs.token_file, for datasets that are opened then");
  // This error means that the file has become shorter than the offset of a
  // read.
  if (name == "IOException" &&
      message.find("out of the range [0, ") != message.npos)
    return absl::FailedPreconditionError(
        "was replaced or changed since the dataset was indexed");
  http::HttpResponse told;
  told.status = answer.status;
  told.headers = answer.headers;
  told.body = absl::StrCat(name, ": ", message);
  if (name == "FileNotFoundException") {
    told.status = 404;
  } else if (name == "UnsupportedOperationException") {
    told.status = 400;
  } else if (name == "StandbyException" || name == "RetriableException" ||
             name == "SafeModeException" || name == "IOException" ||
             name == "BlockMissingException" || name == "ConnectException") {
    told.status = 503;  // these may pass
  }
  return http::ErrorOf(told);
}

}  // namespace forebay::storage::webhdfs
