// The fields of an entry are the fields of its value, with the key's field
// before or after them. text() is a list of parts with 0 bytes between them:
// the place of the key (first, last or none), the key's type if there is a key,
// the kind of the value, and the type or the text of the value's fields. Parse
// takes the parts in that order.
#include "server/dataset/lmdb/entry_fields.h"

#include <algorithm>
#include <array>

#include "absl/strings/str_cat.h"
#include "server/base/check.h"
#include "server/base/status.h"
#include "server/dataset/lmdb/datum.h"
#include "server/dataset/records/whole_value.h"

namespace forebay::dataset::lmdb {
namespace {

// Separates the parts of text(). No text of a type contains this byte.
constexpr char kSeparator = '\0';

// Words of text(). Indexes on disk contain these words, too.
constexpr std::string_view kKeyFirst = "key first";
constexpr std::string_view kKeyLast = "key last";
constexpr std::string_view kNoKey = "no key";
constexpr std::string_view kNothing = "nothing";
constexpr std::string_view kPlain = "value";
constexpr std::string_view kDatum = "datum";
constexpr std::string_view kLsun = "lsun";
constexpr std::string_view kExamples = "examples";

// Removes the part before the next separator from the front of `text`, and
// returns that part.
std::string_view TakePart(std::string_view* text) {
  const std::size_t end = std::min(text->find(kSeparator), text->size());
  const std::string_view part = text->substr(0, end);
  text->remove_prefix(std::min(end + 1, text->size()));
  return part;
}

absl::Status OtherText() {
  return absl::DataLossError("is of entries of another kind");
}

// Parses the value's fields. `kind` is the part of text() that names the kind
// of the fields, and `rest` is everything after that part.
absl::StatusOr<EntryFields::Value> ParseValue(std::string_view kind,
                                              std::string_view rest) {
  using Value = EntryFields::Value;
  if (kind == kNothing) return Value();
  if (kind == kLsun) return Value(EntryFields::OfLsun{});
  if (kind == kExamples) {
    FOREBAY_ASSIGN_OR_RETURN(auto fields, tfrecord::RecordFields::Parse(rest));
    if (fields.is_payload()) return OtherText();
    return Value(std::move(fields));
  }
  auto type = records::ParseValueType(rest);
  if (!type.ok()) return OtherText();
  if (kind == kPlain) return Value(EntryFields::Plain{*std::move(type)});
  if (kind == kDatum) return Value(EntryFields::OfDatum{*std::move(type)});
  return OtherText();
}

records::ValueType ImageType() { return {.kind = proto::FieldKind::kImage}; }

std::vector<Field> ContentAndLabel(const records::ValueType& type,
                                   std::uint64_t longest) {
  const bool is_image = type.kind == proto::FieldKind::kImage;
  return {records::FieldOf(is_image ? "image" : "array", type, longest),
          records::FieldOf("label", {.kind = proto::FieldKind::kLabel},
                           sizeof(std::int64_t))};
}

// Returns the most bytes that a feature's values take, in an Example of
// `example_bytes`. An int64 takes eight bytes as a value, but may take only one
// in the Example, which holds varints.
std::uint64_t LongestFeature(const records::ValueType& type,
                             std::uint64_t example_bytes) {
  if (type.kind == proto::FieldKind::kLabel) return sizeof(std::int64_t);
  if (!type.has_rows || type.array->dtype != proto::DType::kInt64)
    return example_bytes;
  return sizeof(std::int64_t) *
         std::min(example_bytes, UINT64_MAX / sizeof(std::int64_t));
}

}  // namespace

std::string EntryFields::text() const {
  const std::string separator(1, kSeparator);
  std::string text(!key_.has_value() ? kNoKey
                   : key_->is_last   ? kKeyLast
                                     : kKeyFirst);
  text += separator;
  if (key_.has_value()) absl::StrAppend(&text, TextOf(key_->type), separator);
  if (const auto* const plain = std::get_if<Plain>(&value_)) {
    text.append(kPlain) += separator + TextOf(plain->type);
  } else if (const auto* const datum = std::get_if<OfDatum>(&value_)) {
    text.append(kDatum) += separator + TextOf(datum->type);
  } else if (std::holds_alternative<OfLsun>(value_)) {
    text.append(kLsun);
  } else if (const auto* const fields =
                 std::get_if<tfrecord::RecordFields>(&value_)) {
    text.append(kExamples) += separator + fields->text();
  } else {
    text.append(kNothing);
  }
  return text;
}

absl::StatusOr<EntryFields> EntryFields::Parse(std::string_view text) {
  const std::string_view which = TakePart(&text);
  std::optional<KeyField> key;
  if (which == kKeyFirst || which == kKeyLast) {
    auto type = records::ParseValueType(TakePart(&text));
    if (!type.ok()) return OtherText();
    key = KeyField{*std::move(type), which == kKeyLast};
  } else if (which != kNoKey) {
    return OtherText();
  }
  const std::string_view kind = TakePart(&text);
  FOREBAY_ASSIGN_OR_RETURN(Value value, ParseValue(kind, text));
  return EntryFields(std::move(key), std::move(value));
}

std::size_t EntryFields::ValueFields() const {
  if (std::holds_alternative<Plain>(value_)) return 1;
  if (std::holds_alternative<OfDatum>(value_) ||
      std::holds_alternative<OfLsun>(value_))
    return 2;
  if (const auto* const fields = std::get_if<tfrecord::RecordFields>(&value_))
    return fields->fields().size();
  return 0;
}

std::optional<std::size_t> EntryFields::key_field() const {
  if (!key_.has_value()) return std::nullopt;
  return key_->is_last ? ValueFields() : 0;
}

std::optional<std::size_t> EntryFields::file_field() const {
  if (!std::holds_alternative<OfLsun>(value_)) return std::nullopt;
  return key_.has_value() && !key_->is_last ? 2 : 1;
}

std::vector<Field> EntryFields::FieldsOf(
    std::uint64_t longest_key, const records::LengthBounds& lengths) const {
  std::vector<Field> fields;
  if (const auto* const plain = std::get_if<Plain>(&value_)) {
    fields.push_back(records::FieldOf(std::string(Plain::kName), plain->type,
                                      lengths.longest));
    // Arrays in .npy files differ in length if the two bounds of the lengths
    // differ.
    fields.back().shortest = std::min(lengths.shortest, lengths.longest);
  } else if (const auto* const datum = std::get_if<OfDatum>(&value_)) {
    fields = ContentAndLabel(datum->type, lengths.longest);
  } else if (std::holds_alternative<OfLsun>(value_)) {
    fields = ContentAndLabel(ImageType(), lengths.longest);
  } else if (const auto* const features =
                 std::get_if<tfrecord::RecordFields>(&value_)) {
    for (const tfrecord::TfrecordField& field : features->fields())
      fields.push_back(records::FieldOf(
          field.name, field.type, LongestFeature(field.type, lengths.longest)));
  }
  if (const auto number = key_field(); number.has_value()) {
    fields.insert(fields.begin() + static_cast<std::ptrdiff_t>(*number),
                  records::FieldOf(std::string(KeyField::kName), key_->type,
                                   longest_key));
  }
  return fields;
}

absl::Status EntryFields::Read(absl::Span<const std::uint8_t> record,
                               absl::Span<const std::uint8_t> value,
                               absl::Span<FieldValue> values,
                               ValueBuffers* buffers) const {
  FOREBAY_CHECK(values.size() == ValueFields() + (key_.has_value() ? 1 : 0));
  if (key_.has_value() && !key_->is_last) values.remove_prefix(1);
  values = values.first(ValueFields());
  if (const auto* const plain = std::get_if<Plain>(&value_)) {
    FOREBAY_ASSIGN_OR_RETURN(
        values[0], records::WholeValue(plain->type, record, value, buffers));
  } else if (const auto* const of = std::get_if<OfDatum>(&value_)) {
    FOREBAY_ASSIGN_OR_RETURN(const Datum datum, ParseDatum(value));
    FOREBAY_ASSIGN_OR_RETURN(values[0],
                             ContentOf(datum, of->type, record, buffers));
    values[1] = datum.label;
  } else if (std::holds_alternative<OfLsun>(value_)) {
    FOREBAY_ASSIGN_OR_RETURN(
        values[0], records::WholeValue(ImageType(), record, value, buffers));
  } else if (const auto* const features =
                 std::get_if<tfrecord::RecordFields>(&value_)) {
    return features->Read(record, value, values, buffers);
  }
  return absl::OkStatus();
}

}  // namespace forebay::dataset::lmdb
