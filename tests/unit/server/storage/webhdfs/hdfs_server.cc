#include "tests/unit/server/storage/webhdfs/hdfs_server.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/storage/webhdfs/file_status.h"

namespace forebay::storage::webhdfs {
namespace {

constexpr std::string_view kBegin = "/webhdfs/v1";
constexpr std::int64_t kModified = 1'700'000'000'000;

http::Reply JsonReply(const nlohmann::json& body) {
  return {200, "Content-Type: application/json\r\n", body.dump()};
}

http::Reply NotFound(const std::string& path) {
  return {404, "",
          ExceptionJson("FileNotFoundException",
                        absl::StrCat("File does not exist: ", path))};
}

}  // namespace

std::string ExceptionJson(const std::string& name, const std::string& message) {
  return nlohmann::json({{"RemoteException",
                          {{"exception", name},
                           {"javaClassName", "java.io." + name},
                           {"message", message}}}})
      .dump();
}

HdfsServer::HdfsServer(std::size_t part_size)
    : part_size_(part_size),
      data_node_([this](const Asked& asked, http::HttpServer::Peer& peer) {
        HandleData(asked, peer);
      }),
      name_node_([this](const Asked& asked, http::HttpServer::Peer& peer) {
        HandleName(asked, peer);
      }) {}

ObjectVersion HdfsServer::Put(const std::string& path, std::string content) {
  base::MutexLock lock(&mutex_);
  File file = {std::move(content), ++last_number_, kModified};
  const auto status = ParseFileStatus(
      nlohmann::json({{"FileStatus", StatusOf("", file)}}).dump());
  files_[path] = std::move(file);
  return status->version;
}

void HdfsServer::Remove(const std::string& path) {
  base::MutexLock lock(&mutex_);
  files_.erase(path);
}

void HdfsServer::SetToken(const std::string& token) {
  base::MutexLock lock(&mutex_);
  token_ = token;
}

void HdfsServer::ForgetParts() {
  base::MutexLock lock(&mutex_);
  has_parts_ = false;
}

void HdfsServer::LeadTo(const std::string& url) {
  base::MutexLock lock(&mutex_);
  leads_to_ = url;
}

void HdfsServer::SetAnswer(const http::Reply& reply) {
  base::MutexLock lock(&mutex_);
  answer_ = reply;
}

int HdfsServer::asked() const {
  base::MutexLock lock(&mutex_);
  return asked_;
}

http::RequestTarget HdfsServer::last_read() const {
  base::MutexLock lock(&mutex_);
  return last_read_;
}

void HdfsServer::HandleName(const Asked& asked, http::HttpServer::Peer& peer) {
  {
    base::MutexLock lock(&mutex_);
    ++asked_;
  }
  const http::Fault fault = faults_.For(asked);
  http::Reply reply;
  {
    base::MutexLock lock(&mutex_);
    reply = ReplyOfName(http::ParseTarget(asked.target), asked.target);
  }
  http::SendWith(fault, reply, peer);
}

http::Reply HdfsServer::ReplyOfName(const http::RequestTarget& target,
                                    const std::string& raw) {
  if (answer_.status != 0) return answer_;
  if (!token_.empty() && target.Field("delegation") != token_)
    return {401, "", ExceptionJson("SecurityException", "Who are you?")};
  if (!std::string_view(target.path).starts_with(kBegin))
    return {404, "", "no such page"};
  std::string path = target.path.substr(kBegin.size());
  while (path.ends_with('/')) path.pop_back();
  const std::string operation = target.Field("op");
  if (operation == "GETFILESTATUS") return Tell(path);
  if (operation == "LISTSTATUS" ||
      (operation == "LISTSTATUS_BATCH" && has_parts_))
    return List(target, path);
  if (operation != "OPEN")
    return {400, "",
            ExceptionJson("IllegalArgumentException",
                          "Invalid value for webhdfs parameter \"op\"")};
  if (files_.count(path) == 0) return NotFound(path);
  const std::string place = leads_to_.empty() ? data_node_.url() : leads_to_;
  return {307,
          absl::StrCat("Location: ", place, raw, "&namenoderpcaddress=x\r\n"),
          ""};
}

nlohmann::json HdfsServer::StatusOf(const std::string& name, const File& file) {
  return {{"pathSuffix", name},
          {"type", "FILE"},
          {"length", file.content.size()},
          {"modificationTime", file.modified},
          {"fileId", file.number},
          {"owner", "somebody"}};
}

http::Reply HdfsServer::Tell(const std::string& path) const {
  const auto found = files_.find(path);
  if (found != files_.end())
    return JsonReply({{"FileStatus", StatusOf("", found->second)}});
  const auto below = files_.lower_bound(path + "/");
  if (below == files_.end() || !below->first.starts_with(path + "/"))
    return NotFound(path);
  return JsonReply(
      {{"FileStatus", {{"pathSuffix", ""}, {"type", "DIRECTORY"}}}});
}

http::Reply HdfsServer::List(const http::RequestTarget& target,
                             const std::string& path) const {
  const std::string begin = path + "/";
  std::map<std::string, nlohmann::json> entries;
  for (const auto& [name, file] : files_) {
    if (!name.starts_with(begin)) continue;
    const std::string below = name.substr(begin.size());
    const std::size_t slash = below.find('/');
    const std::string entry = below.substr(0, slash);
    if (slash == below.npos)
      entries[entry] = StatusOf(entry, file);
    else
      entries[entry] = {{"pathSuffix", entry}, {"type", "DIRECTORY"}};
  }
  if (entries.empty()) return NotFound(path);
  const bool in_parts = target.Field("op") == "LISTSTATUS_BATCH";
  nlohmann::json shown = nlohmann::json::array();
  std::size_t left = 0;
  for (auto entry = entries.upper_bound(target.Field("startAfter"));
       entry != entries.end(); ++entry) {
    if (in_parts && shown.size() == part_size_)
      ++left;
    else
      shown.push_back(entry->second);
  }
  const nlohmann::json list = {{"FileStatuses", {{"FileStatus", shown}}}};
  if (!in_parts) return JsonReply(list);
  return JsonReply({{"DirectoryListing",
                     {{"partialListing", list}, {"remainingEntries", left}}}});
}

void HdfsServer::HandleData(const Asked& asked, http::HttpServer::Peer& peer) {
  const http::RequestTarget target = http::ParseTarget(asked.target);
  const http::Fault fault = faults_.For(asked);
  http::Reply reply;
  {
    base::MutexLock lock(&mutex_);
    ++asked_;
    last_read_ = target;
    const auto found = files_.find(target.path.substr(kBegin.size()));
    std::uint64_t offset = 0;
    std::uint64_t length = UINT64_MAX;
    if (found == files_.end()) {
      reply = NotFound(target.path);
    } else if (!absl::SimpleAtoi(target.Field("offset"), &offset) ||
               !absl::SimpleAtoi(target.Field("length"), &length) ||
               offset > found->second.content.size()) {
      reply = {403, "",
               ExceptionJson("IOException",
                             "Offset=9 out of the range [0, 1); OPEN")};
    } else {
      reply = {200, "", found->second.content.substr(offset, length)};
    }
  }
  http::SendWith(fault, reply, peer);
}

}  // namespace forebay::storage::webhdfs
