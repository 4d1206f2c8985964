#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_FORMAT_CHOICE_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_FORMAT_CHOICE_H_

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/records/record_catalog.h"
#include "server/dataset/tfrecord/record_fields.h"

namespace forebay::dataset::array_record {

// The fields that are wanted of ArrayRecord files, or that they are to be
// guessed. Immutable and thread-safe.
class FormatChoice {
 public:
  // Without names and types, fields are guessed of the first records. A single
  // field without a name is the record. Never blocks. Errors: those of
  // RecordFields.
  static absl::StatusOr<FormatChoice> Create(
      const std::vector<std::string>& names,
      const std::vector<std::string>& types);

  // Completes a request for ArrayRecord files with its source, root and name. A
  // guess adds to `warnings`, a sentence each, what it leaves out. The request
  // uses both as long as it lives.
  void Complete(records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  explicit FormatChoice(std::optional<tfrecord::RecordFields> fields)
      : fields_(std::move(fields)) {}

  std::optional<tfrecord::RecordFields> fields_;  // null: to be guessed
};

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_FORMAT_CHOICE_H_
