#include "server/dataset/tfrecord/example_choice.h"

#include "absl/strings/str_cat.h"
#include "server/base/status.h"

namespace forebay::dataset::tfrecord {

absl::StatusOr<ExampleChoice> ExampleChoice::Create(
    const std::vector<std::string>& names,
    const std::vector<std::string>& types) {
  if (names.empty() && types.empty()) return ExampleChoice(std::nullopt);
  const bool is_payload =
      names.size() == 1 && names.front().empty() && types.size() == 1;
  auto fields = is_payload ? RecordFields::OfPayload(types.front())
                           : RecordFields::OfExamples(names, types);
  if (!fields.ok()) return fields.status();
  return ExampleChoice(*std::move(fields));
}

void ExampleChoice::Complete(const ExampleFiles& kind,
                             base::MemoryBudget* budget,
                             records::RecordRequest* request,
                             std::vector<std::string>* warnings) const {
  // The request's name includes the fields, so that only requests for equal
  // fields share an index.
  absl::StrAppend(&request->name, std::string(2, '\0'), std::string(kind.name),
                  fields_.has_value() ? fields_->text() : "");
  request->make_format = [kind = &kind, budget](std::string_view text) {
    return kind->parse(text, budget);
  };
  request->find_format = [fields = fields_, kind = &kind, budget, request,
                          warnings](const records::RecordRequest::Files& files,
                                    base::WorkingMemory& memory,
                                    const std::stop_token& stop)
      -> absl::StatusOr<ExampleFiles::FormatPtr> {
    if (fields.has_value()) return kind->make(*fields, budget);
    FOREBAY_ASSIGN_OR_RETURN(FieldGuess guess,
                             kind->guess(*request, files, memory, stop));
    for (const std::string& left_out : guess.left_out) {
      warnings->push_back(absl::StrCat(
          request->root->uri(), ": is read without a field: ", left_out));
    }
    return kind->make(std::move(guess.fields), budget);
  };
}

}  // namespace forebay::dataset::tfrecord
