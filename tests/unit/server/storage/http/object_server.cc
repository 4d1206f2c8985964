#include "tests/unit/server/storage/http/object_server.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "absl/strings/str_cat.h"

namespace forebay::storage::http {

Reply CutToRange(const HttpServer::Asked& asked, Reply reply) {
  const auto range = asked.headers.find("range");
  unsigned long long first = 0;
  unsigned long long last = 0;
  if (range == asked.headers.end() ||
      std::sscanf(range->second.c_str(), "bytes=%llu-%llu", &first, &last) != 2)
    return reply;
  const std::size_t size = reply.body.size();
  if (first >= size) return {416, "", ""};
  last = std::min<unsigned long long>(last, size - 1);
  absl::StrAppend(&reply.headers, "Content-Range: bytes ", first, "-", last,
                  "/", size, "\r\n");
  return {206, reply.headers, reply.body.substr(first, last - first + 1)};
}

ObjectServer::ObjectServer()
    : server_([this](const HttpServer::Asked& asked, HttpServer::Peer& peer) {
        Handle(asked, peer);
      }) {}

void ObjectServer::Put(const std::string& path, std::string content) {
  base::MutexLock lock(&mutex_);
  objects_["/data/" + path] = {std::move(content), ++last_version_};
}

void ObjectServer::Remove(const std::string& path) {
  base::MutexLock lock(&mutex_);
  objects_.erase("/data/" + path);
}

int ObjectServer::asked() const {
  base::MutexLock lock(&mutex_);
  return asked_;
}

void ObjectServer::Handle(const HttpServer::Asked& asked,
                          HttpServer::Peer& peer) {
  {
    base::MutexLock lock(&mutex_);
    ++asked_;
  }
  const Fault fault = faults_.For(asked);
  const Reply reply = ReplyTo(asked);
  if (asked.method == "HEAD" && fault == Fault::kNone) {
    peer.Send(absl::StrCat("HTTP/1.1 ", reply.status, " Answer\r\n",
                           "Content-Length: ", reply.body.size(), "\r\n",
                           reply.headers, "\r\n"));
    return;
  }
  SendWith(fault, reply, peer);
}

Reply ObjectServer::ReplyTo(const HttpServer::Asked& asked) {
  base::MutexLock lock(&mutex_);
  const auto found = objects_.find(asked.target);
  if (found == objects_.end()) return {404, "", "no such thing"};
  return CutToRange(
      asked, {200, absl::StrCat("ETag: \"", found->second.version, "\"\r\n"),
              found->second.content});
}

}  // namespace forebay::storage::http
