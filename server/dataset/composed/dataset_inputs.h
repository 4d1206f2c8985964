#ifndef FOREBAY_SERVER_DATASET_COMPOSED_DATASET_INPUTS_H_
#define FOREBAY_SERVER_DATASET_COMPOSED_DATASET_INPUTS_H_

#include <memory>
#include <vector>

#include "server/base/fd.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::composed {

// The inputs that a client sent with a dataset's spec. The spec's format
// decides which of them are needed.
struct DatasetInputs {
  // The root of a dataset of files or objects.
  std::shared_ptr<const storage::Root> root = nullptr;
  // The samples of a dataset in memory, the list of a subset, or the table of a
  // manifest without a name.
  base::Fd memory = base::Fd();
  // The inputs of the parts of a composed dataset, in the spec's order.
  std::vector<DatasetInputs> parts = {};
};

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_SERVER_DATASET_COMPOSED_DATASET_INPUTS_H_
