// The type of a value comes from the user or from the first values. A guess
// tries a Datum first, then the features of Examples, then a kind of file that
// fits all values. The user may also say only that values are Datums. The first
// values then tell which image or array the Datums hold.
#include "server/dataset/lmdb/lmdb_format_choice.h"

#include <algorithm>
#include <memory>
#include <stop_token>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/lmdb/datum.h"
#include "server/dataset/lmdb/first_values.h"
#include "server/dataset/lmdb/lmdb_format.h"
#include "server/dataset/records/content_guess.h"
#include "server/dataset/tfrecord/field_guess.h"

namespace forebay::dataset::lmdb {
namespace {

using FormatPtr = records::RecordRequest::FormatPtr;
using proto::FieldKind;

constexpr std::string_view kDatumType = "datum";
constexpr std::string_view kLsunType = "lsun";

absl::StatusOr<FormatPtr> MakeFormat(std::string_view text) {
  FOREBAY_ASSIGN_OR_RETURN(FormatPtr format, LmdbFormat::Parse(text));
  return format;
}

absl::StatusOr<KeyField> KeyOf(const std::string& text, bool is_last) {
  auto type = records::ParseValueType(text);
  if (!type.ok())
    return base::Annotate(type.status(), std::string(KeyField::kName));
  if (type->kind != FieldKind::kText && type->kind != FieldKind::kBytes &&
      type->kind != FieldKind::kLabel) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the key of an entry can be \"text\", \"bytes\" or \"int64\", not \"",
        text, "\""));
  }
  return KeyField{*std::move(type), is_last};
}

// Guesses the fields of values that are not Datums: features if all values are
// tf.train.Examples, and a single field if not. `left_out` gets the features
// that no field can hold.
EntryFields::Value Guess(
    absl::Span<const absl::Span<const std::uint8_t>> values,
    std::vector<std::string>* left_out) {
  auto guess = tfrecord::GuessFields(values);
  if (!guess.fields.is_payload()) {
    *left_out = std::move(guess.left_out);
    return std::move(guess.fields);
  }
  // GuessType returns the text of a type, so parsing that text cannot fail.
  return EntryFields::Plain{
      *records::ParseValueType(records::GuessType(values))};
}

}  // namespace

absl::StatusOr<LmdbFormatChoice::Value> LmdbFormatChoice::ValueOf(
    const std::string& type) {
  if (type == kDatumType) return Value(Unknown::kDatum);
  if (type == kLsunType)
    return Value(EntryFields::Value(EntryFields::OfLsun{}));
  auto parsed = records::ParseValueType(type);
  if (!parsed.ok()) return parsed.status();
  return Value(EntryFields::Value(EntryFields::Plain{*std::move(parsed)}));
}

absl::StatusOr<LmdbFormatChoice> LmdbFormatChoice::OfEntries(
    const std::vector<std::string>& names,
    const std::vector<std::string>& types, std::string database) {
  std::optional<KeyField> key;
  Value value;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == KeyField::kName) {
      FOREBAY_ASSIGN_OR_RETURN(key, KeyOf(types[i], i > 0));
      continue;
    }
    auto found = ValueOf(types[i]);
    if (!found.ok()) return base::Annotate(found.status(), names[i]);
    value = *std::move(found);
  }
  return LmdbFormatChoice(std::move(database), std::move(key),
                          std::move(value));
}

absl::StatusOr<LmdbFormatChoice> LmdbFormatChoice::Create(
    const std::vector<std::string>& names,
    const std::vector<std::string>& types, std::string database) {
  if (database.find('\0') != database.npos) {
    return absl::InvalidArgumentError(
        "a database's name must have no 0 byte in it");
  }
  if (names.empty() && types.empty())
    return LmdbFormatChoice(std::move(database), std::nullopt, Unknown::kAll);
  if (names.size() == 1 && names.front().empty() && types.size() == 1) {
    FOREBAY_ASSIGN_OR_RETURN(Value value, ValueOf(types.front()));
    return LmdbFormatChoice(std::move(database), std::nullopt,
                            std::move(value));
  }
  const auto is_of_entry = [](const std::string& name) {
    return name == KeyField::kName || name == EntryFields::Plain::kName;
  };
  const bool differ = names.size() < 2 || names[0] != names[1];
  if (names.size() <= 2 && names.size() == types.size() && differ &&
      std::all_of(names.begin(), names.end(), is_of_entry))
    return OfEntries(names, types, std::move(database));
  for (const std::string_view type : {kDatumType, kLsunType}) {
    if (std::find(types.begin(), types.end(), type) == types.end()) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("only the field \"value\" can be of type \"",
                     std::string(type), "\", alone or with \"key\""));
  }
  FOREBAY_ASSIGN_OR_RETURN(auto features,
                           tfrecord::RecordFields::OfExamples(names, types));
  return LmdbFormatChoice(std::move(database), std::nullopt,
                          EntryFields::Value(std::move(features)));
}

// Returns a text; different choices have different texts. The catalog adds it
// to the request's name, so that only equal choices share an index.
std::string LmdbFormatChoice::text() const {
  const auto* const known = std::get_if<EntryFields::Value>(&value_);
  const std::string rest =
      EntryFields(key_, known != nullptr ? *known : EntryFields::Value())
          .text();
  return absl::StrCat("lmdb", std::string(1, '\0'), database_,
                      std::string(1, '\0'), rest,
                      known != nullptr                             ? ""
                      : std::get<Unknown>(value_) == Unknown::kAll ? "guessed"
                                                                   : "datum");
}

absl::StatusOr<EntryFields::Value> LmdbFormatChoice::FindValue(
    const records::RecordRequest& request,
    const records::RecordRequest::Files& files, base::WorkingMemory& memory,
    const std::stop_token& stop, std::vector<std::string>* warnings) const {
  if (const auto* const known = std::get_if<EntryFields::Value>(&value_))
    return *known;
  FOREBAY_ASSIGN_OR_RETURN(
      const FirstValues first,
      ReadFirstValues({.source = request.source,
                       .root = request.root,
                       .database = database_,
                       .uncached = request.reads_transaction_ids},
                      files, memory, stop));
  if (std::get<Unknown>(value_) == Unknown::kDatum) {
    if (first.values.empty()) return EntryFields::OfDatum();
    const auto datum = ParseDatum(first.values.front());
    if (!datum.ok()) return base::Annotate(datum.status(), first.first);
    auto type = TypeOf(*datum);
    if (type.has_value()) return EntryFields::OfDatum{*std::move(type)};
    return absl::InvalidArgumentError(absl::StrCat(
        first.first,
        ": is a Datum that contradicts itself: ", DescriptionOf(*datum)));
  }
  if (auto type = GuessDatumType(first.values); type.has_value())
    return EntryFields::OfDatum{*std::move(type)};
  std::vector<std::string> left_out;
  EntryFields::Value guess = Guess(first.values, &left_out);
  for (const std::string& sentence : left_out) {
    warnings->push_back(absl::StrCat(request.root->uri(),
                                     ": is read without a field: ", sentence));
  }
  return guess;
}

absl::StatusOr<FormatPtr> LmdbFormatChoice::FindFormat(
    const records::RecordRequest& request,
    const records::RecordRequest::Files& files, base::WorkingMemory& memory,
    const std::stop_token& stop, std::vector<std::string>* warnings) const {
  FOREBAY_ASSIGN_OR_RETURN(EntryFields::Value value,
                           FindValue(request, files, memory, stop, warnings));
  return std::make_shared<const LmdbFormat>(
      database_, EntryFields(key_, std::move(value)));
}

void LmdbFormatChoice::Complete(records::RecordRequest* request,
                                std::vector<std::string>* warnings) const {
  absl::StrAppend(&request->name, std::string(2, '\0'), text());
  request->make_format = MakeFormat;
  request->find_format = [choice = *this, request, warnings](
                             const records::RecordRequest::Files& files,
                             base::WorkingMemory& memory,
                             const std::stop_token& stop) {
    return choice.FindFormat(*request, files, memory, stop, warnings);
  };
}

}  // namespace forebay::dataset::lmdb
