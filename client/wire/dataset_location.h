#ifndef FOREBAY_CLIENT_WIRE_DATASET_LOCATION_H_
#define FOREBAY_CLIENT_WIRE_DATASET_LOCATION_H_

#include <string>
#include <vector>

#include "client/base/status.h"
#include "client/forebay.h"

namespace forebay::client::wire {

// Where a dataset lies.
struct DatasetLocation {
  std::string uri;     // the folder's name for people
  std::string folder;  // the path at which to open it
  // The part of the folder that makes the dataset, if not all of it: patterns
  // of shards or other files, or a manifest.
  std::vector<std::string> shards;
  std::string manifest;
  std::string inner_folder = {};  // in archives; empty: their root
};

// Reads the location from options, whose uri is not null. INVALID_ARGUMENT if
// the options contradict each other.
Status LocateDataset(const forebay_loader_options& options,
                     DatasetLocation* location);

// As LocateDataset, of the images that a table in memory names: the folder that
// has them all.
Status LocateTable(const forebay_loader_options& options,
                   DatasetLocation* location);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DATASET_LOCATION_H_
