#ifndef FOREBAY_SERVER_DATASET_NPZ_NPZ_CHOICE_H_
#define FOREBAY_SERVER_DATASET_NPZ_NPZ_CHOICE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "server/dataset/records/record_catalog.h"

namespace forebay::dataset::npz {

// Says whether rows or files are the samples of .npz files, which arrays their
// fields, and whether files have labels. Immutable and thread-safe.
class NpzChoice {
 public:
  // The fields and columns of a DatasetSpec. INVALID_ARGUMENT: they are no
  // choice; the error gives the reason alone. Never blocks.
  static absl::StatusOr<NpzChoice> Create(
      std::vector<std::string> fields, const std::vector<std::string>& columns);

  // Whether each row of the arrays is a sample, and not each file.
  bool rows() const { return rows_; }
  // Of the arrays; none: all that can be read.
  const std::vector<std::string>& names() const { return names_; }

  // Completes a request for files of which each is a sample. Adds to
  // `warnings`, a sentence each, which arrays of the first file are left out.
  // The request uses both as long as it lives. It fails, besides as NpzParser
  // says, as NpzReader does.
  void Complete(records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  NpzChoice(bool rows, bool has_labels, std::vector<std::string> names)
      : rows_(rows), has_labels_(has_labels), names_(std::move(names)) {}

  bool rows_;
  bool has_labels_;
  std::vector<std::string> names_;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_CHOICE_H_
