#include "server/dataset/array_record/array_record_files.h"

#include <memory>
#include <utility>

#include "server/base/status.h"
#include "server/dataset/array_record/array_record_format.h"
#include "server/dataset/array_record/first_array_records.h"

namespace forebay::dataset::array_record {
namespace {

using tfrecord::ExampleFiles;
using tfrecord::FieldGuess;
using tfrecord::RecordFields;

absl::StatusOr<ExampleFiles::FormatPtr> Parse(std::string_view text,
                                              base::MemoryBudget* budget) {
  return ArrayRecordFormat::Parse(text, budget);
}

ExampleFiles::FormatPtr Make(RecordFields fields, base::MemoryBudget* budget) {
  return std::make_shared<const ArrayRecordFormat>(std::move(fields), budget);
}

// Guesses the fields from the files' first records.
absl::StatusOr<FieldGuess> Guess(const records::RecordRequest& request,
                                 const records::RecordRequest::Files& files,
                                 base::WorkingMemory& memory,
                                 const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(
      const FirstArrayRecords first,
      ReadFirstRecords(*request.source, request.root, files, memory, stop));
  return tfrecord::GuessFields(first.records);
}

}  // namespace

const ExampleFiles& ArrayRecordFiles() {
  static constexpr ExampleFiles kFiles = {
      .name = "array_record", .parse = Parse, .make = Make, .guess = Guess};
  return kFiles;
}

}  // namespace forebay::dataset::array_record
