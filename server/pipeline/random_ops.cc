#include "server/pipeline/random_ops.h"

#include "absl/strings/str_cat.h"

namespace forebay::pipeline {
namespace {

// Returns the name of a random op; null if the op is not random.
const char* RandomName(proto::Op::KindCase kind) {
  switch (kind) {
    case proto::Op::kRandomCrop:
      return "RandomCrop";
    case proto::Op::kRandomResizedCrop:
      return "RandomResizedCrop";
    case proto::Op::kRandomHorizontalFlip:
      return "RandomHorizontalFlip";
    case proto::Op::kRandomVerticalFlip:
      return "RandomVerticalFlip";
    case proto::Op::kColorJitter:
      return "ColorJitter";
    case proto::Op::kRandomWindow:
      return "RandomWindow";
    case proto::Op::kTimeMasking:
      return "TimeMasking";
    case proto::Op::kFrequencyMasking:
      return "FrequencyMasking";
    case proto::Op::kUserCode:
      return "user code";
    default:
      return nullptr;
  }
}

}  // namespace

absl::Status CheckNothingRandom(const proto::PipelineSpec& spec) {
  for (int i = 0; i < spec.ops_size(); ++i) {
    const char* const name = RandomName(spec.ops(i).kind_case());
    if (name == nullptr) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "op ", i + 1, ", ", name,
        ": draws at random, which is for loaders and the trainer itself"));
  }
  return absl::OkStatus();
}

}  // namespace forebay::pipeline
