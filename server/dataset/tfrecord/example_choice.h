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

// The functions that read one kind of files, such as TFRecord files. The
// records of these files are Examples, or payloads of one type. All functions
// are thread-safe. Only `guess` blocks, for reads.
struct ExampleFiles {
  using FormatPtr = records::RecordRequest::FormatPtr;

  std::string_view name;  // the name of this kind of files
  // Makes the format whose text() is `text`. DATA_LOSS: there is no such
  // format. The format reserves memory from `budget`, which outlives it and may
  // be null.
  absl::StatusOr<FormatPtr> (*parse)(std::string_view text,
                                     base::MemoryBudget* budget);
  // Makes the format of files whose records have the fields `fields`. For
  // `budget`, see `parse`.
  FormatPtr (*make)(RecordFields fields, base::MemoryBudget* budget);
  // Reads the first records, and guesses the fields from them. Errors name the
  // file.
  absl::StatusOr<FieldGuess> (*guess)(
      const records::RecordRequest& request,
      const records::RecordRequest::Files& files, base::WorkingMemory& memory,
      const std::stop_token& stop);
};

// The fields that a user wants from records. If the user names no fields, they
// are guessed. Immutable and thread-safe; owns what it stores; never blocks by
// itself. Only Create has errors.
class ExampleChoice {
 public:
  // Makes a choice from the names and types of the fields that a user names. If
  // there are none, the fields are guessed from the first records. A single
  // field without a name is the payload. Errors are those of RecordFields.
  static absl::StatusOr<ExampleChoice> Create(
      const std::vector<std::string>& names,
      const std::vector<std::string>& types);

  // Completes `request`, which already has its source, root and name, for files
  // of the kind `kind`. If the fields are guessed, opening the dataset adds a
  // sentence to `warnings` for each feature that is left out. So all arguments
  // must outlive the opening.
  void Complete(const ExampleFiles& kind, base::MemoryBudget* budget,
                records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  explicit ExampleChoice(std::optional<RecordFields> fields)
      : fields_(std::move(fields)) {}

  std::optional<RecordFields> fields_;  // unset if the fields are to be guessed
};

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_EXAMPLE_CHOICE_H_
