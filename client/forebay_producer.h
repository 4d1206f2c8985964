#ifndef FOREBAY_CLIENT_FOREBAY_PRODUCER_H_
#define FOREBAY_CLIENT_FOREBAY_PRODUCER_H_

/* Datasets whose samples processes of the caller's make, by code that the
 * daemon cannot run. The daemon has them made, in the order and at the pace
 * that its loaders need, straight into the memory that trainers map.
 *
 *   forebay_dataset_from_producers("train", identity, 1000, fields, 2, &made);
 *   options.dataset = made;
 *   ... forebay_loader_create, forebay_loader_open ...
 *   forebay_loader_start_producers(loader, 4, &socket);
 *   ... fork a host that serves `socket`, as proto/producer_socket.h says ...
 *   forebay_loader_start_epoch(loader, 0, 0);
 *
 * The host and its producers may be stopped for as long as the caller likes:
 * the daemon waits, and so do the loader's batches. Other loaders that share
 * them get FOREBAY_FAILED_PRECONDITION from forebay_loader_next after a second
 * or two of waiting; so does this one if it waits for 30 s while the host alone
 * is silent, and if the host has ended. The caller then opens the loader again,
 * and starts a host for it if there is none.
 *
 * Threads, ownership, fork and errors: as in forebay_dataset.h and forebay.h.
 * Blocking: forebay_loader_start_producers waits for the daemon's answer. */

#include "client/forebay_dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* `samples` samples with these 1 to 15 fields: arrays of kind FOREBAY_ARRAY,
 * without data, whose first extent counts the samples and is ignored.
 * `identity`: 16 bytes, the dataset's version; datasets whose samples are equal
 * have it equal. `uri` is the name for people. */
FOREBAY_EXPORT forebay_status forebay_dataset_from_producers(
    const char* uri, const uint8_t* identity, uint64_t samples,
    const forebay_array* fields, size_t count, forebay_dataset** out);

/* Has sample number k of such a dataset made by producer k % lanes, which makes
 * its samples one after the other, in their order unless one is lost. `lanes`:
 * 1 to 256; its loaders need as many producers at least. Once for each dataset.
 */
FOREBAY_EXPORT forebay_status
forebay_dataset_set_lanes(forebay_dataset* dataset, uint32_t lanes);

/* Makes such a dataset live: one producer makes each sample once, one after the
 * other. A loader's epoch begins where other loaders of the same identity are,
 * in the latest epoch that one of them has under way, if that is its own or a
 * later one. A loader that falls far behind passes over samples. Instead of
 * lanes. */
FOREBAY_EXPORT forebay_status
forebay_dataset_set_live(forebay_dataset* dataset);

/* Keeps the first `count` fields of such a dataset on the host in batches on a
 * GPU, too. At least one must not be. Once for each dataset. */
FOREBAY_EXPORT forebay_status
forebay_dataset_set_host_fields(forebay_dataset* dataset, uint32_t count);

/* Adds an op to a pipeline for other datasets' images: code of the caller's
 * own, which its producers run on uint8 pixels, channels last, of the one size
 * that the ops before it make. At most one in a pipeline. `identity`: 16 bytes,
 * equal for code that makes equal samples. `dtype`, `shape`, `rank`: of its
 * result for one sample; height, width and 1 or 3 channels of uint8, unless it
 * is `finished`: then no op may follow. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_user_code(
    forebay_pipeline* pipeline, const uint8_t* identity, forebay_dtype dtype,
    const uint64_t* shape, size_t rank, int finished);

/* Lets at most `producers` processes (1 to 256) make the samples of an open
 * loader at once. *socket becomes a descriptor of the caller's, for the host
 * that forks them. Once for each time that the loader is opened, before its
 * first epoch. FOREBAY_INVALID_ARGUMENT: the daemon makes the samples alone.
 * FOREBAY_FAILED_PRECONDITION: there is a host. */
FOREBAY_EXPORT forebay_status forebay_loader_start_producers(
    forebay_loader* loader, uint32_t producers, int* socket);

/* As forebay_loader_start_producers, for producers that are to keep what they
 * gather, however long the loader rests between epochs. The loader then keeps
 * the memory of its batches until it is closed; another loader's gives it back
 * after session.idle_seconds, and its producers are replaced. Producers of
 * loaders that share them are also replaced where a loader joins. */
FOREBAY_EXPORT forebay_status forebay_loader_start_persistent_producers(
    forebay_loader* loader, uint32_t producers, int* socket);

/* Draws a part of an epoch's order, for callers that make batches of their own:
 * the samples from place `first` on among those of the options' rank. Of the
 * options, order (SEQUENTIAL or SHUFFLE), seed, ranks, uneven, job and
 * runtime_dir count. `samples` has room for *count numbers; *count becomes how
 * many there are: fewer where the order ends. Blocks until the daemon answers.
 * FOREBAY_UNAVAILABLE: none listens. */
FOREBAY_EXPORT forebay_status forebay_draw_order(
    const forebay_loader_options* options, uint64_t dataset_size,
    uint64_t epoch, uint64_t first, uint64_t* samples, size_t* count);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_PRODUCER_H_ */
