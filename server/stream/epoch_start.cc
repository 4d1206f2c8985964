#include "server/stream/epoch_start.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/sampler/sampler.h"

namespace forebay::stream {

absl::StatusOr<CheckedStart> CheckStart(const StreamSpec& spec,
                                        const EpochStart& start) {
  FOREBAY_RETURN_IF_ERROR(sampler::Sampler::CheckEpoch(start.epoch));
  FOREBAY_RETURN_IF_ERROR(spec.sampler.CheckList(start.samples.get()));
  CheckedStart checked{
      .samples = spec.sampler.Epoch(start.epoch, start.samples).samples(),
      .seen_samples = std::nullopt};
  if (start.first_sample > checked.samples) {
    return absl::OutOfRangeError(absl::StrCat("sample ", start.first_sample,
                                              " of an epoch that has ",
                                              checked.samples));
  }
  if (spec.order_member != nullptr) {
    FOREBAY_ASSIGN_OR_RETURN(
        checked.seen_samples,
        spec.order_member->Check(start.first_sample, start.seen_samples.get()));
  }
  return checked;
}

}  // namespace forebay::stream
