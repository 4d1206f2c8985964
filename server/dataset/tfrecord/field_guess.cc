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

// The values that records have of a feature.
struct Seen {
  ValueKind kind = ValueKind::kNone;
  bool is_list = false;
  std::uint64_t records = 0;  // that have it
  bool single = true;         // whether each has one value
  // Of lists: values of each step, if they are equal; else 0.
  std::optional<std::uint64_t> each = std::nullopt;
  bool images = true;
  bool printable = true;
  bool mixed = false;  // kinds
};

void Note(const FeatureValues& values, Seen* seen) {
  if (values.kind() == ValueKind::kNone) {
    seen->single = false;
    return;
  }
  if (seen->kind != ValueKind::kNone && seen->kind != values.kind())
    seen->mixed = true;
  seen->kind = values.kind();
  if (values.count() != 1) seen->single = false;
  if (seen->is_list && values.count() > 0) {
    const std::uint64_t each = seen->each.value_or(values.count_each());
    seen->each = each == values.count_each() ? each : 0;
  }
  if (values.kind() == ValueKind::kBytes) {
    seen->images = seen->images && records::IsImage(values.last_bytes());
    seen->printable =
        seen->printable && records::IsPrintable(values.last_bytes());
  }
}

using SeenFeatures = std::map<std::string, Seen>;

// Returns nothing if they are no Examples.
std::optional<SeenFeatures> SeeFeatures(absl::Span<const Bytes> payloads) {
  SeenFeatures features;
  for (const Bytes payload : payloads) {
    bool well_formed = true;
    const absl::Status read =
        ReadFeatures(payload, [&](const Feature& feature) {
          const auto values = FeatureValues::Read(feature);
          if (!values.ok()) {
            well_formed = false;
            return;
          }
          Seen& seen = features[std::string(feature.name)];
          seen.is_list = feature.is_list;
          ++seen.records;
          Note(*values, &seen);
        });
    if (!read.ok() || !well_formed) return std::nullopt;
  }
  if (features.empty()) return std::nullopt;
  return features;
}

// Returns nothing, and `why`, for a feature that cannot be a field.
std::optional<std::string> TypeOf(const Seen& seen, bool in_all,
                                  std::string* why) {
  if (seen.mixed) {
    *why = "has values of several types";
  } else if (seen.kind == ValueKind::kNone) {
    *why = "has no values";
  } else if (seen.kind == ValueKind::kBytes) {
    if (seen.single && in_all && !seen.is_list)
      return seen.images ? "image" : seen.printable ? "text" : "bytes";
    *why = "is a list of bytes, or lacks in some records";
  } else {
    const std::string name =
        seen.kind == ValueKind::kFloat ? "float32" : "int64";
    if (seen.single && in_all && !seen.is_list) return name;
    const std::uint64_t each = seen.each.value_or(1);
    return each <= 1 || !seen.is_list ? absl::StrCat(name, "[n]")
                                      : absl::StrCat(name, "[n,", each, "]");
  }
  return std::nullopt;
}

FieldGuess OfPayloads(absl::Span<const Bytes> payloads) {
  const bool images =
      !payloads.empty() &&
      std::all_of(payloads.begin(), payloads.end(), records::IsImage);
  auto fields = RecordFields::OfPayload(images ? "image" : "bytes");
  FOREBAY_CHECK(fields.ok());
  return {.fields = *std::move(fields)};
}

}  // namespace

FieldGuess GuessFields(absl::Span<const Bytes> payloads) {
  const auto features = SeeFeatures(payloads);
  if (!features.has_value()) return OfPayloads(payloads);
  std::vector<std::string> names;
  std::vector<std::string> types;
  std::vector<std::string> left_out;
  bool has_image = false;
  for (const auto& [name, seen] : *features) {
    std::string why;
    std::optional<std::string> type =
        TypeOf(seen, seen.records == payloads.size(), &why);
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
      left_out.push_back(
          absl::StrCat("feature ", absl::CHexEscape(name), " ", why));
    }
  }
  auto fields = RecordFields::OfExamples(names, types);
  // No feature can be a field.
  if (!fields.ok()) {
    FieldGuess guess = OfPayloads(payloads);
    guess.left_out = std::move(left_out);
    return guess;
  }
  return {.fields = *std::move(fields), .left_out = std::move(left_out)};
}

}  // namespace forebay::dataset::tfrecord
