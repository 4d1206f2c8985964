#include "client/core/object_reader.h"

#include <unistd.h>

#include <string>
#include <vector>

#include "client/wire/daemon_socket.h"

namespace forebay::client::core {
namespace {

message::ReadObject ToMessage(const forebay_object_range& range) {
  message::ReadObject read;
  read.root = range.root;
  read.name = range.name;
  if (range.version != nullptr)
    read.version = {.size = range.version->size,
                    .stamp = range.version->stamp,
                    .inode = range.version->inode,
                    .ctime_nanos = range.version->ctime_nanos};
  read.offset = range.offset;
  read.length = range.length;
  read.block_bytes = range.block_bytes;
  return read;
}

forebay_object_version ToVersion(const message::ObjectVersion& version) {
  return {.size = version.size,
          .stamp = version.stamp,
          .inode = version.inode,
          .ctime_nanos = version.ctime_nanos};
}

}  // namespace

Status ObjectReader::Open(const forebay_loader_options& options,
                          std::unique_ptr<ObjectReader>* out) {
  if (options.job_key == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "a reader needs a job key");
  std::unique_ptr<wire::Session> session;
  FOREBAY_CLIENT_RETURN_IF_ERROR(wire::Session::Open(
      options.runtime_dir != nullptr ? options.runtime_dir
                                     : wire::RuntimeDirectory(),
      options.job_key, options.job_name != nullptr ? options.job_name : "",
      options.weight, &session));
  out->reset(new ObjectReader(std::move(session), getpid()));
  return Status();
}

void ObjectReader::AfterForkInChild() {
  // BeforeFork has locked the mutex, so the window is consistent here.
  session_->Abandon();
  new_window_.Close();
  window_.Unmap();
  window_mutex_.unlock();
}

Status ObjectReader::CheckProcess() const {
  if (process_ == getpid()) return Status();
  return Status(FOREBAY_FORKED,
                "the reader belongs to the process that this one was forked "
                "from");
}

Status ObjectReader::Ask(const forebay_object_range& range) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckProcess());
  if (request_ != 0)
    return Status(FOREBAY_FAILED_PRECONDITION,
                  "the range asked for before was not awaited");
  if (range.root == nullptr || range.name == nullptr)
    return Status(FOREBAY_INVALID_ARGUMENT, "an object needs a name");
  std::vector<int> fds;
  if (range.directory >= 0) fds.push_back(range.directory);
  std::uint64_t id;
  FOREBAY_CLIENT_RETURN_IF_ERROR(session_->Send(ToMessage(range), fds, &id));
  request_ = id;
  return Status();
}

Status ObjectReader::Await(std::int64_t timeout_nanos,
                           forebay_object_part* out) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckProcess());
  if (request_ == 0)
    return Status(FOREBAY_FAILED_PRECONDITION, "no range was asked for");
  wire::Reply reply;
  Status status = session_->Await(request_, timeout_nanos, &reply);
  if (status.code == FOREBAY_TIMEOUT || status.code == FOREBAY_INTERRUPTED)
    return status;
  request_ = 0;
  // A daemon that is too old to know this request answers that the message has
  // no request, and hangs up.
  if (status.code == FOREBAY_INVALID_ARGUMENT && session_->IsLost())
    return Status(FOREBAY_UNIMPLEMENTED,
                  "the Forebay daemon is too old to read single files: "
                  "restart it with this version");
  FOREBAY_CLIENT_RETURN_IF_ERROR(status);
  const auto* const answer =
      std::get_if<message::ObjectRead>(&reply.answer.kind);
  if (answer == nullptr) return wire::MalformedAnswer("read an object");
  const message::ObjectRead read = *answer;
  FOREBAY_CLIENT_RETURN_IF_ERROR(TakeWindow(std::move(reply), read));
  *out = {};
  if (read.version) out->version = ToVersion(*read.version);
  out->bytes = read.bytes;
  if (read.bytes > 0) out->data = window_.data();
  return Status();
}

Status ObjectReader::TakeWindow(wire::Reply reply,
                                const message::ObjectRead& read) {
  if (reply.fds.size() != (read.window_bytes != 0 ? 1 : 0))
    return wire::MalformedAnswer("read an object");
  const std::lock_guard lock(window_mutex_);
  if (read.window_bytes != 0) {
    new_window_ = std::move(reply.fds[0]);
    new_window_bytes_ = read.window_bytes;
  }
  if (new_window_) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(window_.Map(new_window_, new_window_bytes_));
    new_window_.Close();
  }
  return read.bytes <= window_.bytes()
             ? Status()
             : wire::MalformedAnswer("read an object");
}

}  // namespace forebay::client::core
