#include "tests/integration/cpp/strict_program.h"

#include "client/cpp/forebay.hpp"

namespace cpp_user {

unsigned long ReadStrictly(const std::string& runtime_dir,
                           const std::string& uri) {
  forebay::Pipeline pipeline;
  forebay::Check(forebay_pipeline_add_center_crop(pipeline.get(), 8, 8));
  forebay_loader_options options = forebay::DefaultOptions();
  options.runtime_dir = runtime_dir.c_str();
  options.job_key = "a strict program";
  options.uri = uri.c_str();
  forebay::Loader loader(options, pipeline);
  unsigned long bytes = loader.refusal().size();
  loader.StartEpoch(0);
  while (const auto batch = loader.Next()) {
    const forebay_field image = batch->field(0);
    bytes += image.bytes;
    if (image.row_splits != nullptr) bytes += forebay::BytesOf(image, 0).size();
    if (batch->place(0) == FOREBAY_DEVICE)
      forebay::Batch(*batch).Put(0, nullptr, nullptr);
    bytes -= batch->field("image").bytes - batch->size() * 3 * 8 * 8;
  }
  loader.StopEpoch();
  bytes += loader.class_name(0).size() - loader.class_name(0).size();
  bytes -= loader.stats().batches_copied + loader.info().class_count - 3;
  loader.Close();
  return bytes;
}

}  // namespace cpp_user
