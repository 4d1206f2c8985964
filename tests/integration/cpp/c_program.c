#include "tests/integration/cpp/c_program.h"

#include "client/forebay.h"

void DescribeInC(CLayout* out) {
  out->enumeration = sizeof(forebay_status);
  out->field = sizeof(forebay_field);
  out->field_row_splits = offsetof(forebay_field, row_splits);
  out->options = sizeof(forebay_loader_options);
  out->options_device = offsetof(forebay_loader_options, device);
  out->options_max_seconds = offsetof(forebay_loader_options, max_seconds);
  out->info = sizeof(forebay_loader_info);
  out->stats = sizeof(forebay_loader_stats);
  out->batch_info = sizeof(forebay_batch_info);
  out->field_layout = sizeof(forebay_field_layout);
  out->view = sizeof(forebay_batch_view);
  out->view_fields = offsetof(forebay_batch_view, fields);
  out->padding = sizeof(forebay_padding);
  out->resampling = sizeof(forebay_resampling);
  out->spectrogram = sizeof(forebay_spectrogram);
  out->mel_spectrogram = sizeof(forebay_mel_spectrogram);
}

long ReadEpochInC(const char* runtime_dir, const char* uri) {
  long samples = 0;
  forebay_pipeline* pipeline = forebay_pipeline_new();
  forebay_loader_options options;
  forebay_loader* loader = NULL;
  forebay_batch* batch;
  forebay_status status;
  forebay_loader_options_init(&options, sizeof options);
  options.runtime_dir = runtime_dir;
  options.job_key = "a C program";
  options.uri = uri;
  options.batch_size = 7;
  if (forebay_pipeline_add_center_crop(pipeline, 8, 8) != FOREBAY_OK) return -1;
  status = forebay_loader_create(&options, pipeline, &loader);
  forebay_pipeline_free(pipeline);
  if (status != FOREBAY_OK || forebay_loader_open(loader, -1) != FOREBAY_OK ||
      forebay_loader_start_epoch(loader, 0, 0) != FOREBAY_OK)
    return -1;
  while ((status = forebay_loader_next(loader, -1, &batch)) == FOREBAY_OK) {
    forebay_field image;
    if (forebay_batch_field(batch, 0, &image) != FOREBAY_OK) return -1;
    samples += (long)image.shape[0];
    forebay_batch_release(batch);
  }
  forebay_loader_free(loader);
  return status == FOREBAY_END_OF_EPOCH ? samples : -1;
}
