// The C interface to readers (forebay_reader.h): checks that pointers are not
// null, and translates.

#include "client/forebay_reader.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "client/abi/guard.h"
#include "client/abi/handles.h"
#include "client/base/deadline.h"
#include "client/core/reader.h"

using forebay::client::Nanos;
using forebay::client::Status;
using forebay::client::abi::Complete;
using forebay::client::abi::DatasetOf;
using forebay::client::abi::Guard;
using forebay::client::abi::SpecOf;
using forebay::client::core::Reader;
using forebay::message::ReaderOpened;

struct forebay_reader {
  std::unique_ptr<Reader> reader;
};

namespace {

// Runs `body` with the daemon's answer to the request that opened the reader.
// Fails if the reader is not open yet.
template <typename Body>
forebay_status IfOpened(const forebay_reader* reader, bool arguments_given,
                        const Body& body) {
  return Guard(reader != nullptr && arguments_given, [&] {
    const ReaderOpened* opened = nullptr;
    FOREBAY_CLIENT_RETURN_IF_ERROR(reader->reader->GetOpened(&opened));
    return body(*opened);
  });
}

}  // namespace

forebay_status forebay_reader_create(const forebay_loader_options* options,
                                     const forebay_pipeline* pipeline,
                                     int decode, forebay_reader** out) {
  return Guard(options != nullptr && out != nullptr, [&] {
    const forebay_loader_options all = Complete(*options);
    auto handle = std::make_unique<forebay_reader>();
    Status status = Reader::Create(all, DatasetOf(all), SpecOf(pipeline),
                                   decode != 0, &handle->reader);
    if (status.ok()) *out = handle.release();
    return status;
  });
}

forebay_status forebay_reader_open(forebay_reader* reader,
                                   double timeout_seconds) {
  return Guard(reader != nullptr,
               [&] { return reader->reader->Open(Nanos(timeout_seconds)); });
}

forebay_status forebay_reader_get_info(const forebay_reader* reader,
                                       forebay_reader_info* out) {
  return IfOpened(reader, out != nullptr, [&](const ReaderOpened& opened) {
    *out = {};
    out->dataset_size = opened.dataset_size;
    out->class_count = opened.classes->names.size();
    out->field_count = static_cast<uint32_t>(opened.fields.size());
    forebay::client::abi::CopyVersion(opened.dataset_version,
                                      out->dataset_version);
    return Status();
  });
}

forebay_status forebay_reader_class_name(const forebay_reader* reader,
                                         uint64_t label, const char** name,
                                         size_t* length) {
  return IfOpened(reader, name != nullptr && length != nullptr,
                  [&](const ReaderOpened& opened) {
                    if (label >= opened.classes->names.size())
                      return Status(FOREBAY_INVALID_ARGUMENT,
                                    "there is no such class");
                    *name = opened.classes->names[label].data();
                    *length = opened.classes->names[label].size();
                    return Status();
                  });
}

forebay_status forebay_reader_field_name(const forebay_reader* reader,
                                         uint32_t index, const char** name) {
  return IfOpened(reader, name != nullptr, [&](const ReaderOpened& opened) {
    if (index >= opened.fields.size())
      return Status(FOREBAY_INVALID_ARGUMENT, "there is no such field");
    *name = opened.fields[index].c_str();
    return Status();
  });
}

forebay_status forebay_reader_warning(const forebay_reader* reader,
                                      uint32_t index, const char** text) {
  return IfOpened(reader, text != nullptr, [&](const ReaderOpened& opened) {
    if (index >= opened.warnings.size())
      return Status(FOREBAY_NOT_FOUND, "there are no more warnings");
    *text = opened.warnings[index].c_str();
    return Status();
  });
}

forebay_status forebay_reader_ask(forebay_reader* reader,
                                  const int64_t* samples, size_t count) {
  return Guard(reader != nullptr && samples != nullptr,
               [&] { return reader->reader->Ask(samples, count); });
}

forebay_status forebay_reader_await(forebay_reader* reader,
                                    double timeout_seconds) {
  return Guard(reader != nullptr,
               [&] { return reader->reader->Await(Nanos(timeout_seconds)); });
}

forebay_status forebay_reader_field(const forebay_reader* reader, size_t sample,
                                    uint32_t index, forebay_field* out) {
  return Guard(reader != nullptr && out != nullptr,
               [&] { return reader->reader->Field(sample, index, out); });
}

void forebay_reader_free(forebay_reader* reader) {
  Guard(true, [&] {
    delete reader;
    return Status();
  });
}
