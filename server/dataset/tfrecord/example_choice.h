#ifndef FOREBAY_SERVER_DATASET_TFRECORD_EXAMPLE_CHOICE_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_EXAMPLE_CHOICE_H_

#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/base/memory_budget.h"
#include "server/base/working_memory.h"
#include "server/dataset/records/record_catalog.h"
#include "server/dataset/tfrecord/field_guess.h"
#include "server/dataset/tfrecord/record_fields.h"

namespace forebay::dataset::tfrecord {

// Files whose records are Examples, or payloads of one type: TFRecord's, and
// others. All functions are thread-safe; only `guess` blocks, for reads.
struct ExampleFiles {
  using FormatPtr = records::RecordRequest::FormatPtr;

  std::string_view name;  // tells such formats apart
  // The format of that text. DATA_LOSS: there is none. The budget, which may be
  // null, outlives it, and is for what it keeps.
  absl::StatusOr<FormatPtr> (*parse)(std::string_view text,
                                     base::MemoryBudget* budget);
  FormatPtr (*make)(RecordFields fields, base::MemoryBudget* budget);
  // Guesses the fields of the first records. Errors name the file.
  absl::StatusOr<FieldGuess> (*guess)(
      const records::RecordRequest& request,
      const records::RecordRequest::Files& files, base::WorkingMemory& memory,
      const std::stop_token& stop);
};

// The fields that are wanted of such files, or that they are to be guessed.
// Immutable and thread-safe.
class ExampleChoice {
 public:
  // Without names and types, fields are guessed of the first records. A single
  // field without a name is the payload. Never blocks. Errors: those of
  // RecordFields.
  static absl::StatusOr<ExampleChoice> Create(
      const std::vector<std::string>& names,
      const std::vector<std::string>& types);

  // Completes a request for such files with its source, root and name. A guess
  // adds to `warnings`, a sentence each, what it leaves out. The request uses
  // all of these as long as it lives.
  void Complete(const ExampleFiles& kind, base::MemoryBudget* budget,
                records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  explicit ExampleChoice(std::optional<RecordFields> fields)
      : fields_(std::move(fields)) {}

  std::optional<RecordFields> fields_;  // null: to be guessed
};

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_EXAMPLE_CHOICE_H_
