#include "tests/unit/server/storage/s3/s3_server.h"

#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"
#include "server/storage/http/entity_tags.h"
#include "server/storage/http/url.h"
#include "tests/unit/server/storage/http/object_server.h"

namespace forebay::storage::s3 {
namespace {

constexpr std::string_view kBucket = "/bucket/";

std::string HeaderOf(const http::HttpServer::Asked& asked, const char* name) {
  const auto found = asked.headers.find(name);
  return found == asked.headers.end() ? "" : found->second;
}

}  // namespace

std::string ErrorXml(const std::string& code, const std::string& message,
                     const std::string& more) {
  return absl::StrCat(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>", code,
      "</Code><Message>", message, "</Message>", more, "</Error>");
}

S3Server::S3Server(std::size_t page_size)
    : page_size_(page_size),
      server_([this](const Asked& asked, http::HttpServer::Peer& peer) {
        Handle(asked, peer);
      }) {}

std::int64_t S3Server::Put(const std::string& key, std::string content) {
  base::MutexLock lock(&mutex_);
  const std::string tag = absl::StrCat("tag-", ++last_tag_);
  objects_[key] = {std::move(content), tag};
  return http::StampOfTag(tag);
}

void S3Server::Remove(const std::string& key) {
  base::MutexLock lock(&mutex_);
  objects_.erase(key);
}

void S3Server::SetKeys(const Keys& keys) {
  base::MutexLock lock(&mutex_);
  keys_ = keys;
}

void S3Server::SetAnswer(const http::Reply& reply) {
  base::MutexLock lock(&mutex_);
  answer_ = reply;
}

int S3Server::asked() const {
  base::MutexLock lock(&mutex_);
  return asked_;
}

int S3Server::asked_for_tag() const {
  base::MutexLock lock(&mutex_);
  return asked_for_tag_;
}

void S3Server::Handle(const Asked& asked, http::HttpServer::Peer& peer) {
  {
    base::MutexLock lock(&mutex_);
    ++asked_;
  }
  const http::Fault fault = faults_.For(asked);
  const http::Reply reply = ReplyTo(asked);
  if (asked.method != "HEAD" || fault != http::Fault::kNone)
    return http::SendWith(fault, reply, peer);
  const std::size_t length = reply.status == 200 ? reply.body.size() : 0;
  peer.Send(absl::StrCat("HTTP/1.1 ", reply.status, " Answer\r\n",
                         "Content-Length: ", length, "\r\n", reply.headers,
                         "\r\n"));
}

http::Reply S3Server::ReplyTo(const Asked& asked) {
  base::MutexLock lock(&mutex_);
  if (answer_.status != 0) return answer_;
  if (!keys_.id.empty()) {
    http::Reply refusal = Refuse(asked);
    if (refusal.status != 200) return refusal;
  }
  const http::RequestTarget target = http::ParseTarget(asked.target);
  if (target.path == kBucket) return List(target);
  if (!std::string_view(target.path).starts_with(kBucket))
    return {404, "", ErrorXml("NoSuchBucket", "It does not exist")};
  return Get(asked, target.path.substr(kBucket.size()));
}

http::Reply S3Server::Refuse(const Asked& asked) const {
  const std::string signature = HeaderOf(asked, "authorization");
  if (signature.empty()) return {403, "", ErrorXml("AccessDenied", "No")};
  const std::string begin = "AWS4-HMAC-SHA256 Credential=" + keys_.id + "/";
  if (!std::string_view(signature).starts_with(begin))
    return {403, "", ErrorXml("InvalidAccessKeyId", "Not in our records")};
  if (HeaderOf(asked, "x-amz-security-token") != keys_.token)
    return {400, "", ErrorXml("ExpiredToken", "The token has expired")};
  return {};
}

http::Reply S3Server::List(const http::RequestTarget& target) const {
  const std::string prefix = target.Field("prefix");
  const bool one_level = target.Has("delimiter");
  std::string last = target.Field("continuation-token");
  std::string items;
  std::string next;
  std::size_t count = 0;
  for (const auto& [key, object] : objects_) {
    if (!key.starts_with(prefix)) continue;
    const std::size_t slash =
        one_level ? key.find('/', prefix.size()) : key.npos;
    const std::string shown =
        key.substr(0, std::min(slash, key.size() - 1) + 1);
    // The list already has the folder's name. The folder's objects come after
    // that name, and are skipped.
    if (shown <= last) continue;
    if (count++ == page_size_) {
      next = absl::StrCat("<IsTruncated>true</IsTruncated>",
                          "<NextContinuationToken>", last,
                          "</NextContinuationToken>");
      break;
    }
    last = shown;
    const std::string name = http::EscapePath(shown);
    if (slash == key.npos)
      absl::StrAppend(&items, "<Contents><Key>", name, "</Key><ETag>&quot;",
                      object.tag, "&quot;</ETag><Size>", object.content.size(),
                      "</Size></Contents>");
    else
      absl::StrAppend(&items, "<CommonPrefixes><Prefix>", name,
                      "</Prefix></CommonPrefixes>");
  }
  return {200, "Content-Type: application/xml\r\n",
          absl::StrCat("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n",
                       "<ListBucketResult xmlns=\"http://s3/\">",
                       "<EncodingType>url</EncodingType>", next, items,
                       "</ListBucketResult>")};
}

http::Reply S3Server::Get(const Asked& asked, const std::string& key) {
  const auto found = objects_.find(key);
  if (found == objects_.end())
    return {404, "", ErrorXml("NoSuchKey", "It does not exist")};
  const Object& object = found->second;
  const std::string tag = absl::StrCat("\"", object.tag, "\"");
  const std::string wanted = HeaderOf(asked, "if-match");
  if (!wanted.empty()) ++asked_for_tag_;
  if (!wanted.empty() && wanted != tag)
    return {412, "", ErrorXml("PreconditionFailed", "It did not hold")};
  std::string headers = absl::StrCat("ETag: ", tag, "\r\n");
  if (!HeaderOf(asked, "x-amz-checksum-mode").empty())
    absl::StrAppend(&headers, "x-amz-checksum-crc32c: ",
                    http::Crc32cInBase64(object.content), "\r\n");
  return http::CutToRange(asked, {200, headers, object.content});
}

}  // namespace forebay::storage::s3
