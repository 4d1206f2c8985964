#ifndef FOREBAY_CLIENT_WIRE_DATASET_LOCATION_H_
#define FOREBAY_CLIENT_WIRE_DATASET_LOCATION_H_

#include <string>
#include <vector>

#include "client/base/status.h"
#include "client/forebay.h"

namespace forebay::client::wire {

// The place of a dataset: a folder, and which of the folder's files belong to
// the dataset.
struct DatasetLocation {
  std::string uri;     // the folder's name for people
  std::string folder;  // the path at which to open it
  // Patterns of the dataset's files below the folder; empty if the whole folder
  // is the dataset.
  std::vector<std::string> files;
  std::string manifest;  // the manifest's name in the folder; may be empty
  // The folder, inside archives, that contains the class folders; empty: the
  // archives' root.
  std::string inner_folder = {};
};

// Finds the dataset's location from `options`, whose `uri` is not null.
// INVALID_ARGUMENT if the options contradict each other. Reads no file; never
// blocks.
Status LocateDataset(const forebay_loader_options& options,
                     DatasetLocation* location);

// Finds the folder of the files that a table in memory names. INVALID_ARGUMENT
// if the options do not fit a table. Reads no file; never blocks.
Status LocateTable(const forebay_loader_options& options,
                   DatasetLocation* location);

}  // namespace forebay::client::wire

#endif  // FOREBAY_CLIENT_WIRE_DATASET_LOCATION_H_
