#ifndef FOREBAY_CLIENT_FOREBAY_DATASET_H_
#define FOREBAY_CLIENT_FOREBAY_DATASET_H_

/* Datasets as objects: those that are made of others, or lie in the caller's
 * memory. A loader gets one by the `dataset` of its options:
 *
 *   forebay_dataset* parts[2];
 *   forebay_dataset_from_place(&options, &parts[0]);
 *   forebay_dataset_from_arrays("digits", fields, 2, &parts[1]);
 *   forebay_dataset* both;
 *   forebay_dataset_concatenate(parts, 2, &both);
 *   options.dataset = both;
 *
 * Threads: a dataset never changes, and may be used by several threads; it is
 * freed when none does. Ownership: what a function gives is ended by
 * forebay_dataset_free; what it was made of, and loaders that it was given to,
 * live on without each other. Nothing but memory is waited for. Fork: the
 * child's copies are its own. Errors: as forebay.h says; what is wrong with a
 * dataset's content or its parts, the daemon says when a loader is opened. */

#include "client/forebay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The dataset that the options describe: uri, root, format, extra roots,
 * shards, fields and columns; all others do nothing. */
FOREBAY_EXPORT forebay_status forebay_dataset_from_place(
    const forebay_loader_options* options, forebay_dataset** out);

/* A field of samples in memory, those of all samples. */
typedef struct forebay_array {
  const char* name; /* 1 to 31 bytes */
  /* FOREBAY_IMAGE: FOREBAY_UINT8, samples x height x width, or that x channels,
   * 1 or 3. FOREBAY_LABEL: FOREBAY_INT64, samples. FOREBAY_ARRAY: samples x
   * whatever. */
  forebay_field_kind kind;
  forebay_dtype dtype;
  uint32_t rank; /* dimensions, the samples included; 1 to 6 */
  uint64_t shape[6];
  const void* data; /* in C order, without gaps */
} forebay_array;

/* Samples whose fields are these arrays, 1 to 15 of one number of samples each.
 * They are copied: the arrays may change or go after that. Loaders of equal
 * arrays share one copy in the daemon. `uri` is what people see. */
FOREBAY_EXPORT forebay_status
forebay_dataset_from_arrays(const char* uri, const forebay_array* arrays,
                            size_t count, forebay_dataset** out);

/* Samples of `whole` by their numbers, in this order, and as often as they are
 * named; at most 2^32 - 1. They are numbered anew, from 0. */
FOREBAY_EXPORT forebay_status
forebay_dataset_subset(const forebay_dataset* whole, const int64_t* samples,
                       size_t count, forebay_dataset** out);

/* 1 to 128 datasets with equal fields, one after the other. */
FOREBAY_EXPORT forebay_status forebay_dataset_concatenate(
    const forebay_dataset* const* parts, size_t count, forebay_dataset** out);

/* NULL does nothing. */
FOREBAY_EXPORT void forebay_dataset_free(forebay_dataset* dataset);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_DATASET_H_ */
