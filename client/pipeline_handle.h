#ifndef FOREBAY_CLIENT_PIPELINE_HANDLE_H_
#define FOREBAY_CLIENT_PIPELINE_HANDLE_H_

#include "client/pipeline_codec.h"

// What C has a pointer to.
struct forebay_pipeline {
  forebay::client::PipelineEncoder encoder;
};

#endif  // FOREBAY_CLIENT_PIPELINE_HANDLE_H_
