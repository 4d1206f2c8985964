#include "server/dataset/tfrecord/tfrecord_files.h"

#include <memory>
#include <utility>

#include "server/base/status.h"
#include "server/dataset/tfrecord/first_tfrecords.h"
#include "server/dataset/tfrecord/tfrecord_format.h"

namespace forebay::dataset::tfrecord {
namespace {

absl::StatusOr<ExampleFiles::FormatPtr> Parse(std::string_view text,
                                              base::MemoryBudget*) {
  FOREBAY_ASSIGN_OR_RETURN(RecordFields fields, RecordFields::Parse(text));
  return std::make_shared<const TfrecordFormat>(std::move(fields));
}

ExampleFiles::FormatPtr Make(RecordFields fields, base::MemoryBudget*) {
  return std::make_shared<const TfrecordFormat>(std::move(fields));
}

// Guesses the fields from the files' first records.
absl::StatusOr<FieldGuess> Guess(const records::RecordRequest& request,
                                 const records::RecordRequest::Files& files,
                                 base::WorkingMemory& memory,
                                 const std::stop_token& stop) {
  FOREBAY_ASSIGN_OR_RETURN(
      const FirstTfrecords first,
      ReadFirstRecords(*request.source, request.root, files, memory, stop));
  return tfrecord::GuessFields(first.payloads);
}

}  // namespace

const ExampleFiles& TfrecordFiles() {
  static constexpr ExampleFiles kFiles = {
      .name = "tfrecord", .parse = Parse, .make = Make, .guess = Guess};
  return kFiles;
}

}  // namespace forebay::dataset::tfrecord
