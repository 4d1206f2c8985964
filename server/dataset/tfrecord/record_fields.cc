// A feature and a field match by name. Read finds the features of all fields in
// one pass over the record. Then it reads the values of each feature. A label
// is a single int64. Bytes are a single value. An array is a list of numbers,
// or the bytes of its elements. Numbers are decoded into memory of
// ValueBuffers. The bytes of elements are copied there, for alignment. Other
// bytes stay ranges of the record.
//
// A record that lacks a feature counts as damaged. There is one exception: if a
// field is an array whose first axis may have any length, a record without the
// feature has an empty array. Values of another type are an error of the
// request.
#include "server/dataset/tfrecord/record_fields.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/records/whole_value.h"
#include "server/dataset/tfrecord/example.h"

namespace forebay::dataset::tfrecord {
namespace {

using Bytes = absl::Span<const std::uint8_t>;
using proto::DType;
using proto::FieldKind;

// The first part of text(), which must not change: indexes on disk contain it.
constexpr std::string_view kExamples = "tfrecord examples";
constexpr std::string_view kPayloads = "tfrecord payloads";
// Separates the parts of text(). Neither names nor texts of types contain this
// byte.
constexpr char kSeparator = '\0';

// The most names of features in an error, and the most bytes of each name.
constexpr std::size_t kNamesSaid = 16;
constexpr std::size_t kNamedBytes = 64;

// The feature of each field, by the field's index.
using Features = std::array<std::optional<Feature>, kMaxDatasetFields>;

// Finds the features of all fields in a payload. If several features have the
// same name, the last of them counts, as in the maps of protocol buffers.
absl::StatusOr<Features> FindFeatures(const std::vector<TfrecordField>& fields,
                                      Bytes payload) {
  Features found;
  FOREBAY_RETURN_IF_ERROR(ReadFeatures(payload, [&](const Feature& feature) {
    for (std::size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name == feature.name) found[i] = feature;
    }
  }));
  return found;
}

// Returns the error of a payload without a field's feature. Other records may
// have the feature, so this record counts as damaged.
absl::Status Lacks(const TfrecordField& field, Bytes payload) {
  std::vector<std::string> names;
  std::size_t more = 0;
  FOREBAY_RETURN_IF_ERROR(ReadFeatures(payload, [&](const Feature& feature) {
    if (names.size() < kNamesSaid) {
      names.push_back(
          absl::CHexEscape(std::string(feature.name.substr(0, kNamedBytes))));
    } else {
      ++more;
    }
  }));
  std::sort(names.begin(), names.end());
  return absl::DataLossError(
      absl::StrCat("has no feature ", field.name, "; it has ",
                   names.empty() ? "none" : absl::StrJoin(names, ", "),
                   more == 0 ? "" : absl::StrCat(" and ", more, " more")));
}

DType TypeOfNumbers(ValueKind kind) {
  return kind == ValueKind::kFloat ? DType::kFloat32 : DType::kInt64;
}

bool AreNumbers(const FeatureValues& values) {
  return values.kind() == ValueKind::kFloat ||
         values.kind() == ValueKind::kInt64;
}

// Returns the error of values that do not have the field's type. If only the
// number of values is wrong, the error tells the fix.
absl::Status Unlike(const TfrecordField& field, const FeatureValues& values) {
  std::string fix;
  const auto& array = field.type.array;
  // If the values have the right type, only their number is wrong.
  const bool is_of_that_type =
      AreNumbers(values) &&
      (array.has_value() ? array->dtype == TypeOfNumbers(values.kind())
                         : field.type.kind == FieldKind::kLabel &&
                               values.kind() == ValueKind::kInt64);
  if (is_of_that_type && !field.type.has_rows)
    fix = "; for any number of them, its type ends in \"[n]\"";
  return absl::InvalidArgumentError(
      absl::StrCat(field.name, ": has ", values.count(), " values of type ",
                   std::string(NameOf(values.kind())), ", which is not ",
                   TextOf(field.type), fix));
}

// Returns the number of bytes of an array's elements, or nothing if the values
// cannot be its elements. A value of type bytes has the elements as they lie in
// memory.
std::optional<std::uint64_t> ElementBytes(const records::ValueType& type,
                                          const FeatureValues& values) {
  std::uint64_t bytes = 0;
  if (AreNumbers(values)) {
    if (type.array->dtype != TypeOfNumbers(values.kind())) return std::nullopt;
    bytes = values.number_bytes();
  } else if (values.kind() == ValueKind::kBytes && values.count() == 1) {
    bytes = values.last_bytes().size();
  } else if (values.count() > 0 || !type.has_rows) {
    return std::nullopt;
  }
  const std::uint64_t one = BytesOf(*type.array);
  const bool fits = type.has_rows ? bytes % one == 0 : bytes == one;
  return fits ? std::make_optional(bytes) : std::nullopt;
}

}  // namespace

// Makes the fields' values from one payload in `record`.
class RecordFields::Reader {
 public:
  Reader(Bytes record, ValueBuffers* buffers)
      : record_(record), buffers_(buffers) {}

  absl::StatusOr<FieldValue> Value(const TfrecordField& field,
                                   const FeatureValues& values) const {
    if (field.type.array.has_value()) return Elements(field, values);
    if (field.type.kind == FieldKind::kLabel) {
      if (values.kind() != ValueKind::kInt64 || values.count() != 1)
        return Unlike(field, values);
      return values.integer();
    }
    if (values.kind() != ValueKind::kBytes || values.count() != 1)
      return Unlike(field, values);
    return Range(values.last_bytes());
  }

 private:
  // Returns bytes of the record as a range of it.
  FieldValue Range(Bytes part) const {
    return FieldRange{static_cast<std::uint64_t>(part.data() - record_.data()),
                      part.size()};
  }

  // Copies elements, since elements in a record may not be aligned.
  FieldValue Copy(Bytes part) const {
    const absl::Span<std::uint8_t> room = buffers_->Add(part.size());
    std::copy(part.begin(), part.end(), room.begin());
    return ComputedBytes{room};
  }

  absl::StatusOr<FieldValue> Elements(const TfrecordField& field,
                                      const FeatureValues& values) const {
    const auto bytes = ElementBytes(field.type, values);
    if (!bytes.has_value()) return Unlike(field, values);
    if (!AreNumbers(values)) return Copy(values.last_bytes());
    const absl::Span<std::uint8_t> room = buffers_->Add(*bytes);
    values.CopyNumbers(room);
    return ComputedBytes{room};
  }

  const Bytes record_;
  ValueBuffers* const buffers_;
};

absl::StatusOr<RecordFields> RecordFields::OfExamples(
    absl::Span<const std::string> names, absl::Span<const std::string> types) {
  if (names.empty() || names.size() > kMaxDatasetFields ||
      names.size() != types.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("1 to ", kMaxDatasetFields,
                     " fields must be chosen, each with a type, not ",
                     names.size(), " with ", types.size(), " types"));
  }
  RecordFields fields;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (!IsFieldName(names[i])) {
      return absl::InvalidArgumentError(
          absl::StrCat("\"", names[i], "\" is not a field: a name of 1 to ",
                       proto::kMaxFieldName - 1, " bytes is wanted"));
    }
    if (std::count(names.begin(), names.end(), names[i]) > 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the field ", names[i], " comes twice"));
    }
    auto type = records::ParseValueType(types[i]);
    if (!type.ok()) return base::Annotate(type.status(), names[i]);
    fields.fields_.push_back({names[i], *std::move(type)});
  }
  return fields;
}

absl::StatusOr<RecordFields> RecordFields::OfPayload(std::string_view type) {
  auto parsed = records::ParseValueType(type);
  if (!parsed.ok()) return parsed.status();
  RecordFields fields;
  fields.is_payload_ = true;
  fields.fields_.push_back({std::string(kPayload), *std::move(parsed)});
  return fields;
}

std::string RecordFields::text() const {
  std::string text(is_payload_ ? kPayloads : kExamples);
  for (const TfrecordField& field : fields_) {
    text += kSeparator;
    if (!is_payload_) absl::StrAppend(&text, field.name, std::string(1, '\0'));
    text += TextOf(field.type);
  }
  return text;
}

absl::StatusOr<RecordFields> RecordFields::Parse(std::string_view text) {
  const std::vector<std::string> parts =
      absl::StrSplit(std::string(text), kSeparator);
  absl::StatusOr<RecordFields> fields =
      absl::DataLossError("is of records that are not TFRecords");
  if (parts[0] == kPayloads && parts.size() == 2) {
    fields = OfPayload(parts[1]);
  } else if (parts[0] == kExamples && parts.size() % 2 == 1) {
    std::vector<std::string> names;
    std::vector<std::string> types;
    for (std::size_t i = 1; i < parts.size(); i += 2) {
      names.push_back(parts[i]);
      types.push_back(parts[i + 1]);
    }
    fields = OfExamples(names, types);
  }
  if (!fields.ok()) return absl::DataLossError(fields.status().message());
  return fields;
}

bool RecordFields::has_rows() const {
  return std::any_of(
      fields_.begin(), fields_.end(),
      [](const TfrecordField& field) { return field.type.has_rows; });
}

absl::Status RecordFields::Read(Bytes record, Bytes payload,
                                absl::Span<FieldValue> values,
                                ValueBuffers* buffers) const {
  FOREBAY_CHECK(values.size() == fields_.size());
  if (is_payload_) {
    FOREBAY_ASSIGN_OR_RETURN(
        values[0],
        records::WholeValue(fields_[0].type, record, payload, buffers));
    return absl::OkStatus();
  }
  const Reader reader(record, buffers);
  FOREBAY_ASSIGN_OR_RETURN(const Features found,
                           FindFeatures(fields_, payload));
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    FeatureValues feature;
    if (found[i].has_value()) {
      auto read = FeatureValues::Read(*found[i]);
      if (!read.ok()) return base::Annotate(read.status(), fields_[i].name);
      feature = *std::move(read);
    }
    // A feature without values is taken for missing, as in TensorFlow's parser.
    if (feature.count() == 0 && !fields_[i].type.has_rows) {
      if (!found[i].has_value()) return Lacks(fields_[i], payload);
      return absl::DataLossError(
          absl::StrCat("has no values of feature ", fields_[i].name));
    }
    FOREBAY_ASSIGN_OR_RETURN(values[i], reader.Value(fields_[i], feature));
  }
  return absl::OkStatus();
}

void RecordFields::Measure(Bytes payload,
                           std::vector<records::LengthBounds>* bounds) const {
  bounds->resize(fields_.size());
  if (is_payload_) return (*bounds)[0].Add({payload.size(), payload.size()});
  const auto found = FindFeatures(fields_, payload);
  if (!found.ok()) return;
  for (std::size_t i = 0; i < fields_.size(); ++i) {
    std::uint64_t bytes = 0;
    if ((*found)[i].has_value()) {
      const auto values = FeatureValues::Read(*(*found)[i]);
      if (!values.ok()) continue;
      bytes = AreNumbers(*values) ? values->number_bytes()
                                  : values->last_bytes().size();
    }
    (*bounds)[i].Add({bytes, bytes});
  }
}

}  // namespace forebay::dataset::tfrecord
