#ifndef FOREBAY_SERVER_DATASET_COMPOSED_DATASET_INPUTS_H_
#define FOREBAY_SERVER_DATASET_COMPOSED_DATASET_INPUTS_H_

#include <memory>
#include <vector>

#include "server/base/fd.h"
#include "server/storage/byte_source.h"

namespace forebay::dataset::composed {

// What came with a dataset's spec, as its format needs it.
struct DatasetInputs {
  // Of a dataset that lies somewhere: where.
  std::shared_ptr<const storage::Root> root = nullptr;
  // Of one in memory, the samples; of a subset, the list.
  base::Fd memory = base::Fd();
  // Of one that is made of others: theirs, in the spec's order.
  std::vector<DatasetInputs> parts = {};
};

}  // namespace forebay::dataset::composed

#endif  // FOREBAY_SERVER_DATASET_COMPOSED_DATASET_INPUTS_H_
