#ifndef FOREBAY_CLIENT_FOREBAY_READER_H_
#define FOREBAY_CLIENT_FOREBAY_READER_H_

/* Readers of single samples of a dataset, by number, for callers that make
 * batches themselves. Samples come from the cache that all jobs share, either
 * as they are stored or decoded by the daemon.
 *
 *   forebay_reader* reader;
 *   forebay_reader_create(&options, NULL, 1, &reader);
 *   forebay_reader_open(reader, -1);
 *   int64_t samples[] = {7, 3};
 *   forebay_reader_ask(reader, samples, 2);
 *   if (forebay_reader_await(reader, -1) != FOREBAY_OK) ...
 *   forebay_field image;
 *   forebay_reader_field(reader, 1, 0, &image);  // of sample 3
 *
 * Threads: a reader belongs to one thread at a time; the library starts none.
 * Ownership: as in forebay.h. A field points to memory that the daemon writes,
 * which is readable until the next forebay_reader_ask. Fork: the child may free
 * its parent's reader and open another; all other calls return FOREBAY_FORKED.
 * Errors: as in forebay.h. */

#include "client/forebay.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct forebay_reader forebay_reader;

typedef struct forebay_reader_info {
  uint64_t dataset_size; /* samples */
  uint64_t class_count;
  uint32_t field_count; /* fields of a sample, at most 15 */
  /* Changes with the dataset's content. */
  uint8_t dataset_version[16];
} forebay_reader_info;

/* Asks the daemon for a reader, for which forebay_reader_open then waits.
 * Blocks and fails as forebay_loader_create does. The options of order, ranks
 * and batches have no effect.
 *
 * With `decode`, images come as the pixels that `pipeline` makes. The pipeline
 * must draw nothing at random. If `pipeline` is NULL or empty, images come
 * whole, as uint8 of height x width x 3. Without `decode`, images come as the
 * bytes that are stored. End *out with forebay_reader_free. */
FOREBAY_EXPORT forebay_status forebay_reader_create(
    const forebay_loader_options* options, const forebay_pipeline* pipeline,
    int decode, forebay_reader** out);

/* Waits until the daemon has indexed the dataset, as forebay_loader_open does,
 * with the same statuses. */
FOREBAY_EXPORT forebay_status forebay_reader_open(forebay_reader* reader,
                                                  double timeout_seconds);

/* Describes the reader's dataset. This function and the functions below return
 * FOREBAY_FAILED_PRECONDITION if the reader is not open. */
FOREBAY_EXPORT forebay_status
forebay_reader_get_info(const forebay_reader* reader, forebay_reader_info* out);

/* Finds the name of class `label`. *name is not NUL-terminated, has `*length`
 * bytes, and lives as long as the reader. */
FOREBAY_EXPORT forebay_status
forebay_reader_class_name(const forebay_reader* reader, uint64_t label,
                          const char** name, size_t* length);

/* Finds the name of field `index`, which lives as long as the reader. */
FOREBAY_EXPORT forebay_status forebay_reader_field_name(
    const forebay_reader* reader, uint32_t index, const char** name);

/* Finds warning `index`: a sentence that the dataset's user should know, for
 * example about columns that are left out. The text lives as long as the
 * reader. FOREBAY_NOT_FOUND: there are no more warnings. */
FOREBAY_EXPORT forebay_status forebay_reader_warning(
    const forebay_reader* reader, uint32_t index, const char** text);

/* Asks for 1 to 1024 samples; a number may occur several times. The caller must
 * have awaited all samples that it asked for earlier. */
FOREBAY_EXPORT forebay_status forebay_reader_ask(forebay_reader* reader,
                                                 const int64_t* samples,
                                                 size_t count);

/* Waits until all samples asked for are there, at most `timeout_seconds`
 * (negative: without end). FOREBAY_INTERRUPTED and FOREBAY_TIMEOUT: call again
 * to go on waiting. If some samples fail, the other samples can still be read,
 * and the status is that of the first failed sample. FOREBAY_UNAVAILABLE: the
 * daemon is gone. FOREBAY_SOURCE_UNAVAILABLE: the daemon cannot reach the
 * dataset at present. */
FOREBAY_EXPORT forebay_status forebay_reader_await(forebay_reader* reader,
                                                   double timeout_seconds);

/* Describes field `index` of one sample. `sample` is the sample's index among
 * the samples asked for. The field's shape has no batch dimension; an integer
 * has rank 0. Texts, JSON, bytes, and images that are not decoded, are arrays
 * of uint8. row_splits is NULL. FOREBAY_NOT_FOUND: the sample failed. */
FOREBAY_EXPORT forebay_status forebay_reader_field(const forebay_reader* reader,
                                                   size_t sample,
                                                   uint32_t index,
                                                   forebay_field* out);

/* Ends the reader's session and frees the handle; NULL does nothing. */
FOREBAY_EXPORT void forebay_reader_free(forebay_reader* reader);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_READER_H_ */
