#ifndef FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_FILES_H_
#define FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_FILES_H_

#include "server/dataset/tfrecord/example_choice.h"

namespace forebay::dataset::tfrecord {

// Returns the functions by which an ExampleChoice reads TFRecord files.
// Thread-safe; never blocks; has no errors.
const tfrecord::ExampleFiles& TfrecordFiles();

}  // namespace forebay::dataset::tfrecord

#endif  // FOREBAY_SERVER_DATASET_TFRECORD_TFRECORD_FILES_H_
