// The C interface to readers of objects (forebay_object.h): checks that
// pointers are not null, and translates.

#include "client/forebay_object.h"

#include <memory>
#include <utility>

#include "client/abi/guard.h"
#include "client/abi/handles.h"
#include "client/base/deadline.h"
#include "client/core/object_reader.h"

using forebay::client::Nanos;
using forebay::client::Status;
using forebay::client::abi::Complete;
using forebay::client::abi::Guard;
using forebay::client::core::ObjectReader;

struct forebay_object_reader {
  std::unique_ptr<ObjectReader> reader;
};

forebay_status forebay_object_reader_open(const forebay_loader_options* options,
                                          forebay_object_reader** out) {
  return Guard(options != nullptr && out != nullptr, [&] {
    auto handle = std::make_unique<forebay_object_reader>();
    Status status = ObjectReader::Open(Complete(*options), &handle->reader);
    if (status.ok()) *out = handle.release();
    return status;
  });
}

forebay_status forebay_object_ask(forebay_object_reader* reader,
                                  const forebay_object_range* range) {
  return Guard(reader != nullptr && range != nullptr,
               [&] { return reader->reader->Ask(*range); });
}

forebay_status forebay_object_await(forebay_object_reader* reader,
                                    double timeout_seconds,
                                    forebay_object_part* out) {
  return Guard(reader != nullptr && out != nullptr, [&] {
    return reader->reader->Await(Nanos(timeout_seconds), out);
  });
}

void forebay_object_reader_free(forebay_object_reader* reader) {
  Guard(true, [&] {
    delete reader;
    return Status();
  });
}
