#include "server/dataset/array_record/format_choice.h"

#include <memory>
#include <stop_token>
#include <string_view>

#include "absl/strings/str_cat.h"
#include "server/base/status.h"
#include "server/dataset/array_record/array_record_format.h"
#include "server/dataset/array_record/first_records.h"
#include "server/dataset/tfrecord/field_guess.h"

namespace forebay::dataset::array_record {
namespace {

using FormatPtr = records::RecordRequest::FormatPtr;

absl::StatusOr<FormatPtr> MakeFormat(std::string_view text) {
  return ArrayRecordFormat::Parse(text);
}

absl::StatusOr<FormatPtr> GuessFormat(
    const records::RecordRequest& request,
    const records::RecordRequest::Files& files, base::WorkingMemory& memory,
    const std::stop_token& stop, std::vector<std::string>* warnings) {
  FOREBAY_ASSIGN_OR_RETURN(
      const FirstRecords first,
      ReadFirstRecords(*request.source, request.root, files, memory, stop));
  tfrecord::FieldGuess guess = tfrecord::GuessFields(first.records);
  for (const std::string& left_out : guess.left_out) {
    warnings->push_back(absl::StrCat(request.root->uri(),
                                     ": is read without a field: ", left_out));
  }
  return std::make_shared<const ArrayRecordFormat>(std::move(guess.fields));
}

}  // namespace

absl::StatusOr<FormatChoice> FormatChoice::Create(
    const std::vector<std::string>& names,
    const std::vector<std::string>& types) {
  if (names.empty() && types.empty()) return FormatChoice(std::nullopt);
  const bool is_payload =
      names.size() == 1 && names.front().empty() && types.size() == 1;
  auto fields = is_payload ? tfrecord::RecordFields::OfPayload(types.front())
                           : tfrecord::RecordFields::OfExamples(names, types);
  if (!fields.ok()) return fields.status();
  return FormatChoice(*std::move(fields));
}

void FormatChoice::Complete(records::RecordRequest* request,
                            std::vector<std::string>* warnings) const {
  absl::StrAppend(&request->name, std::string(2, '\0'), "array_record",
                  fields_.has_value() ? fields_->text() : "");
  request->make_format = MakeFormat;
  request->find_format =
      [fields = fields_, request, warnings](
          const records::RecordRequest::Files& files,
          base::WorkingMemory& memory,
          const std::stop_token& stop) -> absl::StatusOr<FormatPtr> {
    if (!fields.has_value())
      return GuessFormat(*request, files, memory, stop, warnings);
    return std::make_shared<const ArrayRecordFormat>(*fields);
  };
}

}  // namespace forebay::dataset::array_record
