#include "tests/unit/server/storage/gcs/gcs_server.h"

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "tests/unit/server/storage/http/object_server.h"
#include "tests/unit/server/storage/http/request_target.h"

namespace forebay::storage::gcs {
namespace {

constexpr std::string_view kObjects = "/storage/v1/b/bucket/o";

std::string HashHeader(const std::string& content) {
  return absl::StrCat("x-goog-hash: crc32c=", http::Crc32cInBase64(content),
                      ",md5=AAAA\r\n");
}

}  // namespace

GcsServer::GcsServer(std::size_t page_size)
    : page_size_(page_size),
      server_([this](const Asked& asked, http::HttpServer::Peer& peer) {
        Handle(asked, peer);
      }) {}

std::int64_t GcsServer::Put(const std::string& name, std::string content) {
  base::MutexLock lock(&mutex_);
  objects_[name] = {std::move(content), ++last_generation_};
  return last_generation_;
}

void GcsServer::Remove(const std::string& name) {
  base::MutexLock lock(&mutex_);
  objects_.erase(name);
}

void GcsServer::SetToken(const std::string& token) {
  base::MutexLock lock(&mutex_);
  token_ = token;
}

int GcsServer::asked() const {
  base::MutexLock lock(&mutex_);
  return asked_;
}

void GcsServer::Handle(const Asked& asked, http::HttpServer::Peer& peer) {
  {
    base::MutexLock lock(&mutex_);
    ++asked_;
  }
  const http::Fault fault = faults_.For(asked);
  http::SendWith(fault, ReplyTo(asked), peer);
}

http::Reply GcsServer::ReplyTo(const Asked& asked) {
  base::MutexLock lock(&mutex_);
  const auto badge = asked.headers.find("authorization");
  if (!token_.empty() &&
      (badge == asked.headers.end() || badge->second != "Bearer " + token_))
    return {401, "", "{\"error\": {\"message\": \"Invalid Credentials\"}}"};
  const http::RequestTarget target = http::ParseTarget(asked.target);
  if (target.path == kObjects) return List(target.query);
  if (!std::string_view(target.path).starts_with(kObjects))
    return {404, "", "no such bucket"};
  const std::string name = target.path.substr(kObjects.size() + 1);
  return target.Has("alt") ? Media(asked, name, target.query) : Tell(name);
}

http::Reply GcsServer::Tell(const std::string& name) {
  const auto found = objects_.find(name);
  if (found == objects_.end()) return {404, "", "No such object"};
  return {200, "Content-Type: application/json\r\n",
          ItemOf(name, found->second).dump()};
}

nlohmann::json GcsServer::ItemOf(const std::string& name,
                                 const Object& object) {
  return {{"name", name},
          {"size", std::to_string(object.content.size())},
          {"generation", std::to_string(object.generation)}};
}

http::Reply GcsServer::List(const std::map<std::string, std::string>& query) {
  const std::string prefix = query.count("prefix") ? query.at("prefix") : "";
  const std::string after =
      query.count("pageToken") ? query.at("pageToken") : "";
  const bool one_level = query.count("delimiter") != 0;
  nlohmann::json page = {{"kind", "storage#objects"}};
  std::string last = after;
  std::size_t count = 0;
  for (const auto& [name, object] : objects_) {
    if (!name.starts_with(prefix)) continue;
    const std::size_t slash =
        one_level ? name.find('/', prefix.size()) : name.npos;
    const std::string shown =
        name.substr(0, std::min(slash, name.size() - 1) + 1);
    // The list already has the folder's name. The folder's objects come after
    // that name, and are skipped.
    if (shown <= last) continue;
    if (count++ == page_size_) {
      page["nextPageToken"] = last;
      break;
    }
    last = shown;
    if (slash == name.npos)
      page["items"].push_back(ItemOf(name, object));
    else
      page["prefixes"].push_back(shown);
  }
  return {200, "Content-Type: application/json\r\n", page.dump()};
}

http::Reply GcsServer::Media(const Asked& asked, const std::string& name,
                             const std::map<std::string, std::string>& query) {
  const auto found = objects_.find(name);
  if (found == objects_.end()) return {404, "", "No such object"};
  const Object& object = found->second;
  const std::string generation = std::to_string(object.generation);
  if (query.count("ifGenerationMatch") &&
      query.at("ifGenerationMatch") != generation)
    return {412, "", "At least one of the pre-conditions did not hold"};
  return http::CutToRange(
      asked, {200,
              absl::StrCat("x-goog-generation: ", generation, "\r\n",
                           HashHeader(object.content)),
              object.content});
}

}  // namespace forebay::storage::gcs
