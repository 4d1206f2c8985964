#ifndef FOREBAY_CLIENT_FOREBAY_DATASET_H_
#define FOREBAY_CLIENT_FOREBAY_DATASET_H_

/* Datasets as objects, made of other datasets or from the caller's memory. A
 * loader reads the `dataset` of its options:
 *
 *   forebay_dataset* parts[2];
 *   forebay_dataset_from_place(&options, &parts[0]);
 *   forebay_dataset_from_arrays("digits", fields, 2, &parts[1]);
 *   forebay_dataset* both;
 *   forebay_dataset_concatenate(parts, 2, &both);
 *   options.dataset = both;
 *
 * Threads: a dataset never changes, and several threads may use it. Free it
 * when no thread uses it any more. Ownership: the caller frees each dataset
 * that a function returns by forebay_dataset_free. A dataset, its parts and its
 * loaders may each be freed without the others. Blocking: only the opening of
 * folders may block. Fork: the child's copies are its own. Errors: as in
 * forebay.h; the daemon reports faults of a dataset's content or of its parts
 * when a loader is opened. */

#include "client/forebay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes the dataset that the options describe by uri, root, format, extra
 * roots, shards, fields and columns. The other options have no effect. */
FOREBAY_EXPORT forebay_status forebay_dataset_from_place(
    const forebay_loader_options* options, forebay_dataset** out);

/* Makes a dataset of the image or audio files that a table in memory names.
 * `table` is CSV (RFC 4180) of `bytes` bytes, with a line of names. The options
 * are as for FOREBAY_MANIFEST, but uri and root name the folder that has all
 * files. The table's paths are relative to that folder. The library copies the
 * table. */
FOREBAY_EXPORT forebay_status forebay_dataset_from_table(
    const forebay_loader_options* options, const char* table, size_t bytes,
    forebay_dataset** out);

/* A field of samples in memory: its elements for all samples. */
typedef struct forebay_array {
  const char* name; /* 1 to 31 bytes */
  /* FOREBAY_IMAGE: FOREBAY_UINT8 of samples x height x width, or of samples x
   * height x width x channels, 1 or 3. FOREBAY_LABEL: FOREBAY_INT64 of samples.
   * FOREBAY_ARRAY: any type, samples x any shape. */
  forebay_field_kind kind;
  forebay_dtype dtype;
  uint32_t rank; /* number of dimensions, 1 to 6, with the samples' */
  uint64_t shape[6];
  const void* data; /* in C order, without gaps */
} forebay_array;

/* Makes a dataset whose samples have these 1 to 15 arrays as fields. All arrays
 * have the same number of samples. The library copies the arrays, so the caller
 * may change or free them afterwards. Loaders of equal arrays share one copy in
 * the daemon. `uri` is the name for people. */
FOREBAY_EXPORT forebay_status
forebay_dataset_from_arrays(const char* uri, const forebay_array* arrays,
                            size_t count, forebay_dataset** out);

/* Makes a dataset of the samples of `whole` that have the numbers in `samples`,
 * in that order. A number may occur several times. `count` is at most 2^32 - 1.
 * Sample numbers of the new dataset begin at 0. */
FOREBAY_EXPORT forebay_status
forebay_dataset_subset(const forebay_dataset* whole, const int64_t* samples,
                       size_t count, forebay_dataset** out);

/* Makes a dataset of the entries of `whole` that have the keys in `keys`, in
 * that order. A key may occur several times. `whole` comes from
 * forebay_dataset_from_place, with the format FOREBAY_LMDB. `keys` has `count`
 * keys, at least one, without gaps; `lengths` has their lengths in bytes. */
FOREBAY_EXPORT forebay_status forebay_dataset_select(
    const forebay_dataset* whole, const char* keys, const uint32_t* lengths,
    size_t count, forebay_dataset** out);

/* Makes a dataset of the samples of 1 to 128 datasets with equal fields, one
 * dataset after the other. */
FOREBAY_EXPORT forebay_status forebay_dataset_concatenate(
    const forebay_dataset* const* parts, size_t count, forebay_dataset** out);

/* Frees the handle; NULL does nothing. */
FOREBAY_EXPORT void forebay_dataset_free(forebay_dataset* dataset);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_DATASET_H_ */
