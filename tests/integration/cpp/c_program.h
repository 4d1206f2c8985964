#ifndef FOREBAY_TESTS_INTEGRATION_CPP_C_PROGRAM_H_
#define FOREBAY_TESTS_INTEGRATION_CPP_C_PROGRAM_H_

/* A program in C99 that includes forebay.h. */

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Sizes and offsets, in bytes, of types that the header declares. */
typedef struct CLayout {
  size_t enumeration;
  size_t field, field_row_splits;
  size_t options, options_device, options_max_seconds;
  size_t info, stats, batch_info;
  size_t field_layout, view, view_fields;
  size_t padding, resampling, spectrogram, mel_spectrogram;
} CLayout;

/* Stores the layout as a C compiler sees it. */
void DescribeInC(CLayout* out);

/* Reads an epoch as the example in the header does. Returns the number of
 * samples, or -1. */
long ReadEpochInC(const char* runtime_dir, const char* uri);

#ifdef __cplusplus
}
#endif

#endif /* FOREBAY_TESTS_INTEGRATION_CPP_C_PROGRAM_H_ */
