// The guess parses the first records and keeps a summary of each feature's
// values: their type, how many there are, and whether bytes look like images,
// audio or text. Then each feature becomes a field of the narrowest type that
// fits all its values. Fields are in the order of names. If any record is not
// an Example, or no feature can be a field, the payload is the only field.
//
// Records are untrusted, so the numbers of features and of warnings are
// bounded.
#include "server/dataset/tfrecord/field_guess.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "server/base/check.h"
#include "server/dataset/records/content_guess.h"
#include "server/dataset/tfrecord/example.h"

namespace forebay::dataset::tfrecord {
namespace {

using Bytes = absl::Span<const std::uint8_t>;

// The most features that a guess looks at. It ignores further features.
constexpr std::size_t kMostFeatures = 1000;
// The most features that warnings name as left out, and the most bytes of each
// name.
constexpr std::size_t kMostNamed = 16;
constexpr std::size_t kNamedBytes = 64;

// A summary of the values that records have of a feature.
struct FeatureSummary {
  ValueKind kind = ValueKind::kNone;
  bool is_list = false;
  std::uint64_t records = 0;  // number of records that have the feature
  std::size_t last_record = SIZE_MAX;  // number of the last record that has it
  bool single = true;                  // whether each record has one value
  // Number of values in each step of a feature list; 0 if steps have different
  // numbers of values. Unset until a list with values is read.
  std::optional<std::uint64_t> each = std::nullopt;
  // These flags describe the last value of each record, if its type is bytes.
  // `any_bytes` says whether any of them is not empty. The others say whether
  // all that are not empty are images, audio files, or printable text.
  bool any_bytes = false;
  bool images = true;
  bool audio = true;
  bool printable = true;
  bool mixed = false;  // whether values are of several types
};

// Adds a record's values of a feature to the feature's summary.
void Note(const FeatureValues& values, FeatureSummary* summary) {
  if (values.kind() == ValueKind::kNone) {
    summary->single = false;
    return;
  }
  if (summary->kind != ValueKind::kNone && summary->kind != values.kind())
    summary->mixed = true;
  summary->kind = values.kind();
  if (values.count() != 1) summary->single = false;
  if (summary->is_list && values.count() > 0) {
    const std::uint64_t each = summary->each.value_or(values.count_each());
    summary->each = each == values.count_each() ? each : 0;
  }
  if (values.kind() == ValueKind::kBytes && !values.last_bytes().empty()) {
    summary->any_bytes = true;
    summary->images = summary->images && records::IsImage(values.last_bytes());
    summary->audio = summary->audio && records::IsAudio(values.last_bytes());
    summary->printable =
        summary->printable && records::IsPrintable(values.last_bytes());
  }
}

using FeatureSummaries = std::map<std::string, FeatureSummary>;

// Adds the features of one record. Returns false if the payload is not an
// Example.
bool AddRecord(Bytes payload, std::size_t record, FeatureSummaries* features) {
  bool well_formed = true;
  const absl::Status read = ReadFeatures(payload, [&](const Feature& feature) {
    const auto values = FeatureValues::Read(feature);
    if (absl::IsDataLoss(values.status())) well_formed = false;
    const std::string name(feature.name);
    if (features->size() >= kMostFeatures && !features->contains(name)) return;
    FeatureSummary& summary = (*features)[name];
    summary.is_list = feature.is_list;
    if (summary.last_record != record) ++summary.records;
    summary.last_record = record;
    if (values.ok()) {
      Note(*values, &summary);
    } else {
      summary.mixed = true;
    }
  });
  return read.ok() && well_formed;
}

// Returns the features of all payloads. Returns nothing if a payload is not an
// Example, or no payload has features.
std::optional<FeatureSummaries> SummarizeFeatures(
    absl::Span<const Bytes> payloads) {
  FeatureSummaries features;
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    if (!AddRecord(payloads[i], i, &features)) return std::nullopt;
  }
  if (features.empty()) return std::nullopt;
  return features;
}

// Returns the type of the field that a feature becomes. `in_all` tells whether
// all records have the feature. If the feature cannot be a field, returns
// nothing and sets `why`.
std::optional<std::string> TypeOf(const FeatureSummary& summary, bool in_all,
                                  std::string* why) {
  if (summary.mixed) {
    *why = "has values of several types";
  } else if (summary.kind == ValueKind::kNone) {
    *why = "has no values";
  } else if (summary.kind == ValueKind::kBytes) {
    if (summary.single && in_all && !summary.is_list) {
      if (!summary.any_bytes) return "bytes";
      if (summary.images) return "image";
      return summary.audio ? "audio" : summary.printable ? "text" : "bytes";
    }
    *why = "is a list of bytes, or lacks in some records";
  } else {
    const std::string name =
        summary.kind == ValueKind::kFloat ? "float32" : "int64";
    if (summary.single && in_all && !summary.is_list) return name;
    const std::uint64_t each = summary.each.value_or(1);
    return each <= 1 || !summary.is_list ? absl::StrCat(name, "[n]")
                                         : absl::StrCat(name, "[n,", each, "]");
  }
  return std::nullopt;
}

// Guesses the type of the payload as the only field.
FieldGuess OfPayloads(absl::Span<const Bytes> payloads) {
  const auto all = [payloads](bool (*are_such)(Bytes)) {
    return !payloads.empty() &&
           std::all_of(payloads.begin(), payloads.end(), are_such);
  };
  auto fields = RecordFields::OfPayload(all(records::IsImage)   ? "image"
                                        : all(records::IsAudio) ? "audio"
                                                                : "bytes");
  FOREBAY_CHECK(fields.ok());
  return {.fields = *std::move(fields)};
}

}  // namespace

FieldGuess GuessFields(absl::Span<const Bytes> payloads) {
  const auto features = SummarizeFeatures(payloads);
  if (!features.has_value()) return OfPayloads(payloads);
  std::vector<std::string> names;
  std::vector<std::string> types;
  std::vector<std::string> left_out;
  std::size_t left_out_count = 0;
  bool has_image = false;
  for (const auto& [name, summary] : *features) {
    std::string why;
    std::optional<std::string> type =
        TypeOf(summary, summary.records == payloads.size(), &why);
    if (type == "image" && std::exchange(has_image, true)) type = "bytes";
    if (type.has_value() && !IsFieldName(name)) {
      why = absl::StrCat("has a name that is not of 1 to ",
                         proto::kMaxFieldName - 1, " bytes");
    } else if (type.has_value() && names.size() == kMaxDatasetFields) {
      why = absl::StrCat("is one more than ", kMaxDatasetFields);
    }
    if (why.empty()) {
      names.push_back(name);
      types.push_back(*std::move(type));
    } else {
      if (++left_out_count > kMostNamed) continue;
      left_out.push_back(absl::StrCat(
          "feature ", absl::CHexEscape(name.substr(0, kNamedBytes)), " ", why));
    }
  }
  if (left_out_count > kMostNamed) {
    left_out.push_back(
        absl::StrCat(left_out_count - kMostNamed, " features more"));
  }
  auto fields = RecordFields::OfExamples(names, types);
  // OfExamples fails if no feature can be a field. In that case the payload is
  // the only field.
  if (!fields.ok()) {
    FieldGuess guess = OfPayloads(payloads);
    guess.left_out = std::move(left_out);
    return guess;
  }
  return {.fields = *std::move(fields), .left_out = std::move(left_out)};
}

}  // namespace forebay::dataset::tfrecord
