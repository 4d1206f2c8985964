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

// The objects behind those opaque pointers of the C interface that several
// files use. The caller owns each object, and deletes it by the forebay_*_free
// function of its type.
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
// lacks. The struct in such a header is shorter; options.size tells its length.
// If the header is newer than the library, ignores options that the library
// does not know.
inline forebay_loader_options Complete(const forebay_loader_options& options) {
  forebay_loader_options all;
  forebay_loader_options_init(&all, sizeof all);
  memcpy(&all, &options, std::min(options.size, sizeof all));
  return all;
}

// Returns the dataset of the options that Complete returned; null if the
// options describe the dataset by their uri.
inline const wire::Dataset* DatasetOf(const forebay_loader_options& options) {
  return options.dataset != nullptr ? &options.dataset->dataset : nullptr;
}

// Returns the spec of a pipeline; if the pipeline is null, a spec without ops.
inline message::PipelineSpec SpecOf(const forebay_pipeline* pipeline) {
  return pipeline != nullptr ? pipeline->spec : message::PipelineSpec();
}

// Copies a dataset's version, which may come from the daemon with any length.
inline void CopyVersion(const std::string& version, uint8_t (&out)[16]) {
  memcpy(out, version.data(), std::min(version.size(), sizeof out));
}

}  // namespace forebay::client::abi

#endif  // FOREBAY_CLIENT_ABI_HANDLES_H_
