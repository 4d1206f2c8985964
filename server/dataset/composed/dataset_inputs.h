#ifndef FOREBAY_SERVER_DATASET_COMPOSED_DATASET_INPUTS_H_
#define FOREBAY_SERVER_DATASET_COMPOSED_DATASET_INPUTS_H_

#include <memory>
#include <vector>

#include "server/base/fd.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::composed {

// The inputs that a client sent with a dataset's spec, as its format needs
// them.
struct DatasetInputs {
  // For a dataset of files or objects: its root.
  std::shared_ptr<const storage::Root> root = nullptr;
  // For a dataset in memory: its samples. For a subset: its list. For images
  // that a table in memory names: the table.
  base::Fd memory = base::Fd();
  // For a dataset that is made of others: their inputs, in the spec's order.
  std::vector<DatasetInputs> parts = {};
};

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_SERVER_DATASET_COMPOSED_DATASET_INPUTS_H_
