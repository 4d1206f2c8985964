#include "tests/unit/server/storage/webhdfs/hdfs_server.h"

#include <openssl/evp.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/crc32c.h"
#include "server/storage/webhdfs/file_status.h"

namespace forebay::storage::webhdfs {
namespace {

constexpr std::string_view kBegin = "/webhdfs/v1";
constexpr std::int64_t kModified = 1'700'000'000'000;
constexpr std::size_t kBytesPerCrc = 512;
constexpr char kAlgorithm[] = "MD5-of-0MD5-of-512CRC32C";

http::Reply JsonReply(const nlohmann::json& body) {
  return {200, "Content-Type: application/json\r\n", body.dump()};
}

http::Reply NotFound(const std::string& path) {
  return {404, "",
          ExceptionJson("FileNotFoundException",
                        absl::StrCat("File does not exist: ", path))};
}

std::string Md5(const std::string& text) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  FOREBAY_CHECK(EVP_Digest(text.data(), text.size(), digest, &size, EVP_md5(),
                           nullptr) == 1);
  return std::string(reinterpret_cast<const char*>(digest), size);
}

// Returns the checksum of a file of one block. The checksum is the MD5 of the
// MD5 of the CRC-32Cs, one of each 512 bytes.
std::string Checksum(std::string_view content) {
  std::string sums;
  for (; !content.empty(); content.remove_prefix(
           std::min<std::size_t>(content.size(), kBytesPerCrc))) {
    const std::string_view piece = content.substr(0, kBytesPerCrc);
    const std::uint32_t crc = base::Crc32c(
        {reinterpret_cast<const std::uint8_t*>(piece.data()), piece.size()});
    for (int shift = 24; shift >= 0; shift -= 8)
      sums += static_cast<char>(crc >> shift);
  }
  return absl::StrCat("000002000000000000000000",
                      absl::BytesToHexString(Md5(Md5(sums))));
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
  const FileStatus status = *ParseFileStatus(
      nlohmann::json({{"FileStatus", StatusOf("", file)}}).dump());
  const std::string checksum =
      absl::StrCat(kAlgorithm, " ", Checksum(file.content));
  files_[path] = std::move(file);
  return has_numbers_ || !has_checksums_ ? status.version
                                         : VersionByChecksum(status, checksum);
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

void HdfsServer::ForgetNumbers(bool has_checksums) {
  base::MutexLock lock(&mutex_);
  has_numbers_ = false;
  has_checksums_ = has_checksums;
}

void HdfsServer::LeadTo(const std::string& url) {
  base::MutexLock lock(&mutex_);
  leads_to_ = url;
}

void HdfsServer::BeGateway() {
  base::MutexLock lock(&mutex_);
  is_gateway_ = true;
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
  const http::RequestTarget target = http::ParseTarget(asked.target);
  bool leads_here = false;
  {
    base::MutexLock lock(&mutex_);
    leads_here = is_gateway_ && target.Has("namenoderpcaddress");
    if (!leads_here) ++asked_;
  }
  if (leads_here) return HandleData(asked, peer);
  const http::Fault fault = faults_.For(asked);
  http::Reply reply;
  {
    base::MutexLock lock(&mutex_);
    reply = ReplyOfName(target, asked);
  }
  http::SendWith(fault, reply, peer);
}

http::Reply HdfsServer::ReplyOfName(const http::RequestTarget& target,
                                    const Asked& asked) {
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
  if (operation != "OPEN" &&
      (operation != "GETFILECHECKSUM" || !has_checksums_))
    return {400, "",
            ExceptionJson("IllegalArgumentException",
                          "Invalid value for webhdfs parameter \"op\"")};
  if (files_.count(path) == 0) return NotFound(path);
  std::string place = leads_to_.empty() ? data_node_.url() : leads_to_;
  if (is_gateway_) place = "http://" + asked.headers.at("host");
  return {307,
          absl::StrCat("Location: ", place, asked.target,
                       "&namenoderpcaddress=x\r\n"),
          ""};
}

nlohmann::json HdfsServer::StatusOf(const std::string& name,
                                    const File& file) const {
  nlohmann::json status = {{"pathSuffix", name},
                           {"type", "FILE"},
                           {"length", file.content.size()},
                           {"modificationTime", file.modified},
                           {"owner", "somebody"}};
  if (has_numbers_) status["fileId"] = file.number;
  return status;
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
  // The list of a file has the file itself.
  const auto file = files_.find(path);
  if (file != files_.end()) entries[""] = StatusOf("", file->second);
  if (entries.empty()) return NotFound(path);
  const bool in_parts = target.Field("op") == "LISTSTATUS_BATCH";
  nlohmann::json shown = nlohmann::json::array();
  std::size_t left = 0;
  const std::string after = target.Field("startAfter");
  for (auto entry = after.empty() ? entries.begin()
                                  : entries.upper_bound(after);
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
    reply = ReplyOfData(target);
  }
  http::SendWith(fault, reply, peer);
}

http::Reply HdfsServer::ReplyOfData(const http::RequestTarget& target) const {
  const auto found = files_.find(target.path.substr(kBegin.size()));
  if (found == files_.end()) return NotFound(target.path);
  const std::string& content = found->second.content;
  if (target.Field("op") == "GETFILECHECKSUM")
    return JsonReply({{"FileChecksum",
                       {{"algorithm", kAlgorithm},
                        {"bytes", Checksum(content)},
                        {"length", 28}}}});
  std::uint64_t offset = 0;
  std::uint64_t length = UINT64_MAX;
  if ((target.Has("offset") &&
       !absl::SimpleAtoi(target.Field("offset"), &offset)) ||
      (target.Has("length") &&
       !absl::SimpleAtoi(target.Field("length"), &length)) ||
      offset > content.size())
    return {
        403, "",
        ExceptionJson("IOException", "Offset=9 out of the range [0, 1); OPEN")};
  return {200, "", content.substr(offset, length)};
}

}  // namespace forebay::storage::webhdfs
