#ifndef FOREBAY_SERVER_DATASET_NPZ_NPZ_CHOICE_H_
#define FOREBAY_SERVER_DATASET_NPZ_NPZ_CHOICE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "proto/dataset.pb.h"
#include "server/dataset/records/record_catalog.h"

namespace forebay::dataset::npz {

// A user's choice of how .npz files become samples: whether rows or whole files
// are the samples, which arrays are the fields, and whether files have labels.
//
// Immutable and thread-safe. Owns its names. Its own calls never block, but
// opening a completed request reads files. Only Create has errors.
class NpzChoice {
 public:
  // Reads the choice from a spec. INVALID_ARGUMENT: the spec does not say what
  // a sample is, or names an array that cannot be a field. The error gives the
  // reason alone.
  static absl::StatusOr<NpzChoice> Create(const proto::Npz& spec);

  // Whether each row of the arrays is a sample, instead of each file.
  bool rows() const { return rows_; }
  // Names of the arrays that are fields; if empty, all arrays that can be read.
  const std::vector<std::string>& names() const { return names_; }

  // Completes a request whose files are the samples. Adds a sentence to
  // `warnings` for each array of the first file that is left out. Both pointers
  // must stay valid until the request has been opened. The request's errors are
  // those of NpzParser and NpzReader.
  void Complete(records::RecordRequest* request,
                std::vector<std::string>* warnings) const;

 private:
  NpzChoice(bool rows, bool has_labels, std::vector<std::string> names)
      : rows_(rows), has_labels_(has_labels), names_(std::move(names)) {}

  // Whether rows are samples. Rows have no labels.
  bool rows_;
  // Whether each file has a label: the folder that the file is in.
  bool has_labels_;
  std::vector<std::string> names_;
};

}  // namespace forebay::dataset::npz

#endif  // FOREBAY_SERVER_DATASET_NPZ_NPZ_CHOICE_H_
