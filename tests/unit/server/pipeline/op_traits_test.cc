#include "server/pipeline/op_traits.h"

#include <algorithm>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tests/catch/catch.h"
#include "tests/catch/matchers.h"
#include "tests/unit/server/pipeline/spec.h"

namespace forebay::pipeline {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using tests::IsOk;

// Numbers without bounds. Their op checks them against something else.
const std::set<std::string> kUnbounded = {"Decode.scaled",
                                          "Grayscale.num_output_channels",
                                          "MelSpectrogram.f_max",
                                          "MelSpectrogram.norm",
                                          "Mfcc.log_mels",
                                          "Mfcc.n_mfcc",
                                          "Mfcc.ortho",
                                          "Normalize.axis",
                                          "Normalize.mean",
                                          "Normalize.std",
                                          "RandomCrop.pad_if_needed",
                                          "RandomWindow.axis",
                                          "RandomWindow.length",
                                          "RandomWindow.pad_if_needed",
                                          "Slice.axis",
                                          "Slice.start",
                                          "Slice.stop",
                                          "Spectrogram.center",
                                          "Spectrogram.hop_length",
                                          "Spectrogram.win_length",
                                          "ToDtype.scale",
                                          "Transpose.order",
                                          "UserCode.finished",
                                          "UserCode.shape",
                                          "Vol.gain"};

// Fields by name, and their bounds.
constexpr char kBounds[] =
    "AmplitudeToDB.top_db 0 to 1e+06\n"
    "CenterCrop.height 1 to 65535\n"
    "CenterCrop.width 1 to 65535\n"
    "ColorJitter.brightness 0 to 1e+06\n"
    "ColorJitter.contrast 0 to 1e+06\n"
    "ColorJitter.hue -0.5 to 0.5\n"
    "ColorJitter.saturation 0 to 1e+06\n"
    "FrequencyMasking.freq_mask_param 0 to 1.67772e+07\n"
    "MelSpectrogram.f_min 0 to 1.67772e+07\n"
    "MelSpectrogram.n_mels 1 to 4096 or unset\n"
    "MelSpectrogram.sample_rate 2 to 1.67772e+07 or unset\n"
    "Padding.bottom 0 to 65535\n"
    "Padding.fill 0 to 255\n"
    "Padding.left 0 to 65535\n"
    "Padding.right 0 to 65535\n"
    "Padding.top 0 to 65535\n"
    "RandomCrop.height 1 to 65535\n"
    "RandomCrop.width 1 to 65535\n"
    "RandomHorizontalFlip.p 0 to 1\n"
    "RandomResizedCrop.height 1 to 65535\n"
    "RandomResizedCrop.ratio_max 1e-06 to 1e+06\n"
    "RandomResizedCrop.ratio_min 1e-06 to 1e+06\n"
    "RandomResizedCrop.scale_max 1e-06 to 1e+06\n"
    "RandomResizedCrop.scale_min 1e-06 to 1e+06\n"
    "RandomResizedCrop.width 1 to 65535\n"
    "RandomVerticalFlip.p 0 to 1\n"
    "Resample.beta 0 to 100\n"
    "Resample.lowest_freq 0 to 1.67772e+07\n"
    "Resample.lowpass_filter_width 1 to 1024 or unset\n"
    "Resample.new_freq 1 to 1.67772e+07\n"
    "Resample.orig_freq 0 to 1.67772e+07\n"
    "Resample.rolloff 1e-06 to 1 or unset\n"
    "Resize.height 1 to 65535\n"
    "Resize.max_size 0 to 65535\n"
    "Resize.width 0 to 65535\n"
    "Spectrogram.n_fft 2 to 65536 or unset\n"
    "Spectrogram.pad 0 to 1.67772e+07\n"
    "Spectrogram.power 1 to 2 or unset\n"
    "TimeMasking.p 0 to 1\n"
    "TimeMasking.time_mask_param 0 to 1.67772e+07";

// Adds a line for each field of a message, and of the messages in it.
void AddBounds(const Descriptor& type, std::set<std::string>* bounded,
               std::set<std::string>* unbounded) {
  for (int i = 0; i < type.field_count(); ++i) {
    const FieldDescriptor& field = *type.field(i);
    const std::string name = absl::StrCat(type.name(), ".", field.name());
    const bool is_number =
        field.cpp_type() != FieldDescriptor::CPPTYPE_ENUM &&
        field.cpp_type() != FieldDescriptor::CPPTYPE_STRING &&
        field.cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE;
    if (field.options().HasExtension(proto::bounds)) {
      const proto::Bounds& bounds = field.options().GetExtension(proto::bounds);
      bounded->insert(absl::StrCat(name, " ", bounds.min(), " to ",
                                   bounds.max(),
                                   bounds.or_unset() ? " or unset" : ""));
    } else if (is_number) {
      unbounded->insert(name);
    } else if (field.message_type() != nullptr) {
      AddBounds(*field.message_type(), bounded, unbounded);
    }
  }
}

TEST_CASE("Every number of an op has its bounds", "[pipeline][op_traits]") {
  std::set<std::string> bounded;
  std::set<std::string> unbounded;
  AddBounds(*proto::Op::descriptor(), &bounded, &unbounded);
  CHECK(absl::StrJoin(bounded, "\n") == kBounds);
  CHECK(unbounded == kUnbounded);
}

// Returns the names of the ops that `has` is true for.
template <typename Has>
std::string OpsThat(const Has& has) {
  std::string names;
  const Descriptor& op = *proto::Op::descriptor();
  for (int i = 0; i < op.field_count(); ++i) {
    const Descriptor& type = *op.field(i)->message_type();
    if (has(type.options().GetExtension(proto::op)))
      absl::StrAppend(&names, names.empty() ? "" : " ", type.name());
  }
  return names;
}

TEST_CASE("Ops tell whether they draw and compute pixels and what they change",
          "[pipeline][op_traits]") {
  CHECK(OpsThat([](const auto& traits) { return traits.draws(); }) ==
        "RandomCrop RandomResizedCrop RandomHorizontalFlip RandomVerticalFlip "
        "ColorJitter UserCode RandomWindow TimeMasking FrequencyMasking");
  CHECK(OpsThat([](const auto& traits) { return traits.computes_pixels(); }) ==
        "Resize RandomResizedCrop ColorJitter Grayscale Pad");
  const auto of = [](proto::OpTraits::Domain domain) {
    return OpsThat([domain](const auto& traits) {
      const auto& domains = traits.domain();
      return std::find(domains.begin(), domains.end(), domain) != domains.end();
    });
  };
  CHECK(of(proto::OpTraits::AUDIO) ==
        "Resample ToMono Vol Spectrogram MelSpectrogram AmplitudeToDB Mfcc "
        "TimeMasking FrequencyMasking");
  CHECK(of(proto::OpTraits::ARRAY) ==
        "Normalize ToDtype Slice RandomWindow Transpose");
}

TEST_CASE("Ops have titles that users know", "[pipeline][op_traits]") {
  CHECK(OpTitle(1, Spec("ops { random_crop {} }").ops(0)) ==
        "transform 2 (RandomCrop)");
  CHECK(OpTitle(0, Spec("ops { mfcc {} }").ops(0)) == "transform 1 (MFCC)");
  CHECK(OpTitle(0, Spec("ops { user_code {} }").ops(0)) ==
        "transform 1 (user code)");
  CHECK(OpTitle(0, proto::Op()) == "transform 1 (unknown)");
  CHECK_THAT(CheckFields(proto::Op()), IsOk());
}

TEST_CASE("Numbers in messages and lists of an op are checked",
          "[pipeline][op_traits]") {
  const auto refusal = [](const std::string& op) {
    const absl::Status checked = CheckFields(Spec("ops { " + op + " }").ops(0));
    return std::string(checked.message());
  };
  CHECK(refusal("pad { padding { top: 65536 } }") ==
        "padding is 65536, not 0 to 65535");
  CHECK(refusal("pad { padding { fill: [1, 256] } }") ==
        "fill is 256, not 0 to 255");
  CHECK(refusal("color_jitter { hue { min: 0 max: 0.75 } }") ==
        "hue is 0.75, not -0.5 to 0.5");
  CHECK(refusal("color_jitter { hue { min: nan } }") ==
        "hue is nan, not -0.5 to 0.5");
  CHECK(refusal("resize { height: 1 interpolation: 9 }") ==
        "interpolation is 9, which this daemon does not know: it knows "
        "NEAREST, BILINEAR, BICUBIC, BILINEAR_ALIASED");
  CHECK(refusal("spectrogram {}").empty());
}

TEST_CASE("Refused values are named by the parameters of the op's class",
          "[pipeline][op_traits]") {
  const auto refusal = [](const std::string& op) {
    const absl::Status checked = CheckFields(Spec("ops { " + op + " }").ops(0));
    return std::string(checked.message());
  };
  CHECK(refusal("mel_spectrogram { spectrogram { n_fft: 1 } }") ==
        "n_fft is 1, not 2 to 65536");
  CHECK(refusal("mfcc { mel { spectrogram { pad: 4000000000 } } }") ==
        "pad is 4000000000, not 0 to 16777216");
  CHECK(refusal("mel_spectrogram { spectrogram { window: 9 } }") ==
        "window_fn is 9, which this daemon does not know: it knows HANN, "
        "HAMMING, BLACKMAN, BARTLETT, RECTANGULAR");
  CHECK(refusal("random_resized_crop { height: 1 width: 1 }") ==
        "scale is 0, not 1e-06 to 1e+06");
  for (const char* const side : {"left", "top", "right", "bottom"}) {
    CHECK(refusal(absl::StrCat("random_crop { height: 1 width: 1 padding { ",
                               side, ": 65536 } }")) ==
          "padding is 65536, not 0 to 65535");
  }
  CHECK(refusal("pad { padding { mode: 9 } }") ==
        "padding_mode is 9, which this daemon does not know: it knows "
        "CONSTANT, EDGE, REFLECT, SYMMETRIC");
}

}  // namespace
}  // namespace forebay::pipeline
