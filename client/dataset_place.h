#ifndef FOREBAY_CLIENT_DATASET_PLACE_H_
#define FOREBAY_CLIENT_DATASET_PLACE_H_

#include <string>
#include <vector>

#include "client/forebay.h"
#include "client/status.h"

namespace forebay::client {

// Where a dataset lies.
struct DatasetPlace {
  // As people know its folder.
  std::string uri;
  // The path by which that is opened.
  std::string folder;
  // Below it, what makes the dataset, if that is not the folder itself: shards'
  // patterns, or a manifest.
  std::vector<std::string> shards;
  std::string manifest;
};

// FOREBAY_INVALID_ARGUMENT: the options do not go together. The options have
// been checked for a null uri.
Status FindPlace(const forebay_loader_options& options, DatasetPlace* place);

}  // namespace forebay::client

#endif  // FOREBAY_CLIENT_DATASET_PLACE_H_
