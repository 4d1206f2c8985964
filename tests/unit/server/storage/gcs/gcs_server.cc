#include "tests/unit/server/storage/gcs/gcs_server.h"

#include <isa-l/crc.h>

#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/unit/server/storage/http/object_server.h"

namespace forebay::storage::gcs {
namespace {

constexpr std::string_view kObjects = "/storage/v1/b/bucket/o";

std::string Unescape(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size()) {
      plain += absl::HexStringToBytes({text.data() + i + 1, 2});
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::map<std::string, std::string> ParseQuery(std::string_view text) {
  std::map<std::string, std::string> query;
  for (const absl::string_view field :
       absl::StrSplit(absl::string_view(text.data(), text.size()), '&')) {
    const std::pair<std::string, std::string> entry =
        absl::StrSplit(field, absl::MaxSplits('=', 1));
    query[entry.first] = Unescape(entry.second);
  }
  return query;
}

std::string HashHeader(const std::string& content) {
  auto* const data =
      reinterpret_cast<unsigned char*>(const_cast<char*>(content.data()));
  const std::uint32_t crc =
      ~crc32_iscsi(data, static_cast<int>(content.size()), ~0U);
  std::string raw;
  for (int shift = 24; shift >= 0; shift -= 8)
    raw += static_cast<char>(crc >> shift);
  return absl::StrCat("x-goog-hash: crc32c=", absl::Base64Escape(raw),
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
  std::string_view target = asked.target;
  const std::size_t mark = target.find('?');
  const auto query =
      ParseQuery(target.substr(std::min(mark + 1, target.size())));
  target = target.substr(0, mark);
  if (target == kObjects) return List(query);
  if (!target.starts_with(kObjects)) return {404, "", "no such bucket"};
  const std::string name = Unescape(target.substr(kObjects.size() + 1));
  return query.count("alt") ? Media(asked, name, query) : Tell(name);
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
    // Skips the objects of a folder that is in the list: they come after its
    // name.
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
