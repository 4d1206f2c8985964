#ifndef FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_FILES_H_
#define FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_FILES_H_

#include "server/dataset/tfrecord/example_choice.h"

namespace forebay::dataset::array_record {

// Returns the functions by which an ExampleChoice reads ArrayRecord files.
// Thread-safe; never blocks; has no errors.
const tfrecord::ExampleFiles& ArrayRecordFiles();

}  // namespace forebay::dataset::array_record

#endif  // FOREBAY_SERVER_DATASET_ARRAY_RECORD_ARRAY_RECORD_FILES_H_
