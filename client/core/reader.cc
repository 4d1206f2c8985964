#include "client/core/reader.h"

#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "client/core/open_request.h"

namespace forebay::client::core {

Status Reader::Create(const forebay_loader_options& options,
                      const wire::Dataset* dataset,
                      message::PipelineSpec pipeline, bool decode,
                      std::unique_ptr<Reader>* out) {
  if (options.device >= 0)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "a reader's samples lie on the host: leave device at -1");
  std::unique_ptr<const OpenRequest> open_request;
  FOREBAY_CLIENT_RETURN_IF_ERROR(OpenRequest::Create(
      options, dataset, std::move(pipeline), &open_request));
  std::unique_ptr<wire::Session> session;
  std::uint64_t id;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      open_request->SendOpenReader(decode, &session, &id));
  out->reset(new Reader(std::move(session), id, getpid()));
  return Status();
}

void Reader::AfterForkInChild() {
  // BeforeFork has locked the mutex, so the window is consistent here.
  session_->Abandon();
  new_window_.Close();
  window_.Unmap();
  window_mutex_.unlock();
}

Status Reader::CheckProcess() const {
  if (process_ == getpid()) return Status();
  return Status(FOREBAY_FORKED,
                "the reader belongs to the process that this one was forked "
                "from");
}

Status Reader::CheckOpen() const {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckProcess());
  if (is_open_) return Status();
  return Status(FOREBAY_FAILED_PRECONDITION, "the reader is not open yet");
}

Status Reader::GetOpened(const message::ReaderOpened** out) const {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  *out = &opened_;
  return Status();
}

Status Reader::Open(std::int64_t timeout_nanos) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckProcess());
  if (is_open_) return Status();
  wire::Reply reply;
  FOREBAY_CLIENT_RETURN_IF_ERROR(
      session_->Await(request_, timeout_nanos, &reply));
  auto* const opened = std::get_if<message::ReaderOpened>(&reply.answer.kind);
  if (opened == nullptr || opened->fields.empty() ||
      opened->fields.size() >= proto::kMaxFields ||
      reply.fds.size() != (opened->classes_in_memfd ? 1 : 0))
    return wire::MalformedAnswer("open a reader");
  if (!opened->classes) opened->classes.emplace();
  if (opened->classes_in_memfd) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(
        wire::ReadClassList(reply.fds[0], &*opened->classes));
  }
  opened_ = std::move(*opened);
  is_open_ = true;
  request_ = 0;
  return Status();
}

Status Reader::Ask(const std::int64_t* samples, size_t count) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  if (request_ != 0)
    return Status(FOREBAY_FAILED_PRECONDITION,
                  "the samples asked for before were not awaited");
  if (count > proto::kMaxFetch)
    return Status(FOREBAY_INVALID_ARGUMENT,
                  "at most 1024 samples are fetched at once");
  message::Fetch fetch = {.reader_id = opened_.reader_id, .samples = {}};
  fetch.samples.assign(samples, samples + count);
  std::uint64_t id;
  FOREBAY_CLIENT_RETURN_IF_ERROR(session_->Send(std::move(fetch), {}, &id));
  request_ = id;
  requested_count_ = count;
  window_count_ = 0;
  return Status();
}

Status Reader::Await(std::int64_t timeout_nanos) {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  if (request_ == 0)
    return Status(FOREBAY_FAILED_PRECONDITION, "no samples were asked for");
  wire::Reply reply;
  Status status = session_->Await(request_, timeout_nanos, &reply);
  if (status.code == FOREBAY_TIMEOUT || status.code == FOREBAY_INTERRUPTED)
    return status;
  request_ = 0;
  FOREBAY_CLIENT_RETURN_IF_ERROR(status);
  const auto* const fetched = std::get_if<message::Fetched>(&reply.answer.kind);
  if (fetched == nullptr ||
      reply.fds.size() != (fetched->window_bytes != 0 ? 1 : 0))
    return wire::MalformedAnswer("fetch samples");
  const std::lock_guard lock(window_mutex_);
  if (fetched->window_bytes != 0) {
    new_window_ = std::move(reply.fds[0]);
    new_window_bytes_ = fetched->window_bytes;
  }
  if (new_window_) {
    FOREBAY_CLIENT_RETURN_IF_ERROR(window_.Map(new_window_, new_window_bytes_));
    new_window_.Close();
  }
  FOREBAY_CLIENT_RETURN_IF_ERROR(window_.Check(
      requested_count_, static_cast<std::uint32_t>(opened_.fields.size())));
  window_count_ = requested_count_;
  if (fetched->failed.empty()) return Status();
  return wire::ToStatus(fetched->failed[0].error.value_or(message::Error()));
}

Status Reader::Field(size_t sample, std::uint32_t index,
                     forebay_field* out) const {
  FOREBAY_CLIENT_RETURN_IF_ERROR(CheckOpen());
  const auto fields = static_cast<std::uint32_t>(opened_.fields.size());
  if (sample >= window_count_ || index >= fields)
    return Status(FOREBAY_INVALID_ARGUMENT, "no such field was fetched");
  proto::FetchedField field;
  FOREBAY_CLIENT_RETURN_IF_ERROR(window_.Find(sample, index, fields, &field));
  if (field.kind == proto::FieldKind{})
    return Status(FOREBAY_NOT_FOUND, "the sample could not be fetched");
  *out = {};
  out->name = opened_.fields[index].c_str();
  out->kind = static_cast<forebay_field_kind>(field.kind);
  out->dtype = static_cast<forebay_dtype>(field.dtype);
  out->rank = field.rank;
  std::copy_n(field.shape, field.rank, out->shape);
  out->data = window_.data() + field.offset;
  out->bytes = field.bytes;
  return Status();
}

}  // namespace forebay::client::core
