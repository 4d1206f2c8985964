#ifndef FOREBAY_CLIENT_DATASET_HANDLE_H_
#define FOREBAY_CLIENT_DATASET_HANDLE_H_

#include "client/dataset.h"

// What C has a pointer to.
struct forebay_dataset {
  forebay::client::Dataset dataset;
};

#endif  // FOREBAY_CLIENT_DATASET_HANDLE_H_
