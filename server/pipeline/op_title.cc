#include "server/pipeline/op_title.h"

#include "absl/strings/str_cat.h"

namespace forebay::pipeline {
namespace {

using KindCase = proto::Op::KindCase;

// Returns an op's name as users write it in Python.
absl::string_view Name(KindCase kind) {
  switch (kind) {
    case KindCase::kResize:
      return "Resize";
    case KindCase::kCenterCrop:
      return "CenterCrop";
    case KindCase::kRandomCrop:
      return "RandomCrop";
    case KindCase::kRandomResizedCrop:
      return "RandomResizedCrop";
    case KindCase::kRandomHorizontalFlip:
      return "RandomHorizontalFlip";
    case KindCase::kRandomVerticalFlip:
      return "RandomVerticalFlip";
    case KindCase::kColorJitter:
      return "ColorJitter";
    case KindCase::kGrayscale:
      return "Grayscale";
    case KindCase::kPad:
      return "Pad";
    case KindCase::kNormalize:
      return "Normalize";
    case KindCase::kToDtype:
      return "ToDtype";
    case KindCase::kToImage:
      return "ToImage";
    case KindCase::kUserCode:
      return "user code";
    case KindCase::kSlice:
      return "Slice";
    case KindCase::kRandomWindow:
      return "RandomWindow";
    case KindCase::kTranspose:
      return "Transpose";
    case KindCase::kDecode:
      return "Decode";
    case KindCase::kExifTranspose:
      return "ExifTranspose";
    case KindCase::kResample:
      return "Resample";
    case KindCase::kToMono:
      return "ToMono";
    case KindCase::kVol:
      return "Vol";
    case KindCase::kSpectrogram:
      return "Spectrogram";
    case KindCase::kMelSpectrogram:
      return "MelSpectrogram";
    case KindCase::kAmplitudeToDb:
      return "AmplitudeToDB";
    case KindCase::kMfcc:
      return "MFCC";
    case KindCase::kTimeMasking:
      return "TimeMasking";
    case KindCase::kFrequencyMasking:
      return "FrequencyMasking";
    case KindCase::KIND_NOT_SET:
      break;
  }
  return "unknown";
}

}  // namespace

std::string OpTitle(int index, const proto::Op& op) {
  return absl::StrCat("transform ", index + 1, " (", Name(op.kind_case()), ")");
}

}  // namespace forebay::pipeline
