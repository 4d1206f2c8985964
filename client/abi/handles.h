#ifndef FOREBAY_CLIENT_ABI_HANDLES_H_
#define FOREBAY_CLIENT_ABI_HANDLES_H_

#include <string.h>

#include <algorithm>
#include <memory>
#include <string>

#include "client/core/loader.h"
#include "client/forebay.h"
#include "client/wire/dataset.h"
#include "proto/job.message.h"

// The objects behind the opaque pointers of the C interface, as far as several
// files need them. The caller owns each object, and deletes it by the function
// forebay_*_free of its type.
struct forebay_pipeline {
  forebay::message::PipelineSpec spec;
};

struct forebay_loader {
  std::unique_ptr<forebay::client::core::Loader> loader;
};

struct forebay_dataset {
  forebay::client::wire::Dataset dataset;
};

namespace forebay::client::abi {

// Returns the caller's options, with defaults for options that an older header
// lacks. The struct of such a header is shorter, as options.size says. If the
// header is newer than the library, options that the library does not know are
// ignored.
inline forebay_loader_options Complete(const forebay_loader_options& options) {
  forebay_loader_options all;
  forebay_loader_options_init(&all, sizeof all);
  memcpy(&all, &options, std::min(options.size, sizeof all));
  return all;
}

// Returns the dataset of complete options; null if the options describe it by
// their uri.
inline const wire::Dataset* DatasetOf(const forebay_loader_options& options) {
  return options.dataset != nullptr ? &options.dataset->dataset : nullptr;
}

// Returns the spec of a pipeline; without ops for null.
inline message::PipelineSpec SpecOf(const forebay_pipeline* pipeline) {
  return pipeline != nullptr ? pipeline->spec : message::PipelineSpec();
}

// Copies a dataset's version, which the daemon may have sent with any length.
inline void CopyVersion(const std::string& version, uint8_t (&out)[16]) {
  memcpy(out, version.data(), std::min(version.size(), sizeof out));
}

}  // namespace forebay::client::abi

#endif  // FOREBAY_CLIENT_ABI_HANDLES_H_
