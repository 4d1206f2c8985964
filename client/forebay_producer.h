#ifndef FOREBAY_CLIENT_FOREBAY_PRODUCER_H_
#define FOREBAY_CLIENT_FOREBAY_PRODUCER_H_

/* Datasets whose samples are made by producers. A producer is a process of the
 * caller's that runs code which the daemon cannot run. The daemon asks them for
 * samples in the order and at the pace that loaders need. Producers write
 * samples straight into the memory that trainers map.
 *
 *   forebay_dataset_from_producers("train", identity, 1000, fields, 2, &made);
 *   options.dataset = made;
 *   ... forebay_loader_create, forebay_loader_open ...
 *   forebay_loader_start_producers(loader, 4, &socket);
 *   ... fork a host that serves `socket`, as proto/worker_socket.h says ...
 *   forebay_loader_start_epoch(loader, 0, 0);
 *
 * The host is the process that forks the producers. The host and its producers
 * may be stopped for as long as the caller likes; the loader's batches wait
 * meanwhile. Other loaders that share the batches get
 * FOREBAY_FAILED_PRECONDITION from forebay_loader_next after a second or two of
 * waiting. This loader gets that status if the host has ended, or if only the
 * host is silent while the loader waits for 30 s. If the daemon cannot see the
 * host's process (another PID namespace), both times are two seconds longer.
 * Loaders of a live dataset wait for a silent host without end. After
 * FOREBAY_FAILED_PRECONDITION, the caller opens the loader again, and starts a
 * host if none runs.
 *
 * Threads, ownership, fork and errors: as in forebay_dataset.h and forebay.h.
 * Blocking: forebay_loader_start_producers waits for the daemon's answer. */

#include "client/forebay_dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a dataset of `samples` samples with these 1 to 15 fields: arrays of
 * kind FOREBAY_ARRAY, without data. The first extent of each shape stands for
 * the samples and is ignored. `identity`: 16 bytes, the dataset's version;
 * datasets of equal samples have equal versions. `uri` is the name for people.
 */
FOREBAY_EXPORT forebay_status forebay_dataset_from_producers(
    const char* uri, const uint8_t* identity, uint64_t samples,
    const forebay_array* fields, size_t count, forebay_dataset** out);

/* Assigns sample k of a dataset of producers to producer k % lanes. A producer
 * makes its samples one after the other, in their order unless one is lost.
 * `lanes`: 1 to 256; the dataset's loaders need at least as many producers. At
 * most one call for each dataset. */
FOREBAY_EXPORT forebay_status
forebay_dataset_set_lanes(forebay_dataset* dataset, uint32_t lanes);

/* Makes a dataset of producers live: a single producer makes the samples one
 * after the other, each once. A loader that starts an epoch joins the other
 * loaders of the same identity at their present sample. It joins the latest
 * epoch that they have under way, unless that epoch is earlier than its own. A
 * loader that falls far behind misses samples. This call takes the place of
 * forebay_dataset_set_lanes. */
FOREBAY_EXPORT forebay_status
forebay_dataset_set_live(forebay_dataset* dataset);

/* Keeps the first `count` fields of a dataset of producers on the host, even in
 * batches on a GPU. `count` is less than the number of fields. At most one call
 * for each dataset. */
FOREBAY_EXPORT forebay_status
forebay_dataset_set_host_fields(forebay_dataset* dataset, uint32_t count);

/* Adds an op to a pipeline for images of other datasets: code of the caller's
 * own. Producers run the op on uint8 pixels, channels last. The ops before it
 * must give all images one size. A pipeline has at most one such op.
 * `identity`: 16 bytes, equal for code that makes equal samples.
 *
 * `dtype`, `shape` and `rank` describe the result for one sample: uint8 of
 * height, width and 1 or 3 channels. With `finished`, the result may have any
 * type and shape, and no op may follow. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_user_code(
    forebay_pipeline* pipeline, const uint8_t* identity, forebay_dtype dtype,
    const uint64_t* shape, size_t rank, int finished);

/* Lets at most `producers` processes (1 to 256) make the samples of an open
 * loader at once. Sets *socket to a descriptor, which the caller owns, for the
 * host that forks the producers. Each time that the caller has opened the
 * loader, it calls this function once, before the loader's first epoch.
 * FOREBAY_INVALID_ARGUMENT: the daemon makes the samples alone.
 * FOREBAY_FAILED_PRECONDITION: the loader's samples have a host already. */
FOREBAY_EXPORT forebay_status forebay_loader_start_producers(
    forebay_loader* loader, uint32_t producers, int* socket);

/* Does what forebay_loader_start_producers does, for producers that must keep
 * their state between epochs, however long the loader rests. The loader then
 * keeps the memory of its batches until it is closed. Loaders without
 * persistent producers give that memory back after session.idle_seconds, and
 * their producers are replaced. If several loaders share producers, these are
 * also replaced when another loader joins. */
FOREBAY_EXPORT forebay_status forebay_loader_start_persistent_producers(
    forebay_loader* loader, uint32_t producers, int* socket);

/* Draws a part of an epoch's order, for callers that make batches themselves.
 * The part consists of the samples of the options' rank, from position `first`
 * on. Only the options order (SEQUENTIAL or SHUFFLE), seed, rank, world_size,
 * uneven, runtime_dir, job_key, job_name and weight have an effect. `samples`
 * has room for *count numbers. The call sets *count to how many numbers it has
 * written, which are fewer at the order's end. Blocks until the daemon answers.
 * FOREBAY_UNAVAILABLE: no daemon listens. */
FOREBAY_EXPORT forebay_status forebay_draw_order(
    const forebay_loader_options* options, uint64_t dataset_size,
    uint64_t epoch, uint64_t first, uint64_t* samples, size_t* count);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_PRODUCER_H_ */
