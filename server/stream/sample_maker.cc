#include "server/stream/sample_maker.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::stream {

absl::Status SampleMaker::Make(const Place& place,
                               absl::Span<const std::uint8_t> encoded,
                               pipeline::Workspace& workspace) const {
  const Batch& batch = *place.batch;
  absl::Status status = recipe_->pipeline->Run(
      encoded,
      {.seed = recipe_->seed, .epoch = batch.epoch, .sample = place.id},
      workspace, layout_->Image(batch.data, place.index));
  layout_->SetLabel(batch.data, place.index, place.label);
  layout_->SetSampleId(batch.data, place.index,
                       static_cast<std::int64_t>(place.id));
  if (status.ok()) return status;
  const std::string object = recipe_->dataset->At(place.id).object;
  return Blame(place, base::Annotate(status, object));
}

absl::Status SampleMaker::Blame(const Place& place,
                                const absl::Status& status) const {
  return base::Annotate(status, absl::StrCat("sample ", place.id, " of ",
                                             recipe_->dataset->root()->uri()));
}

}  // namespace forebay::stream
