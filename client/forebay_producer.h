#ifndef FOREBAY_CLIENT_FOREBAY_PRODUCER_H_
#define FOREBAY_CLIENT_FOREBAY_PRODUCER_H_

/* Datasets whose samples are made by producers: processes of the caller's that
 * run code which the daemon cannot run. The daemon asks them for samples in the
 * order and at the pace that loaders need. Producers write samples straight
 * into the memory that trainers map.
 *
 *   forebay_dataset_from_producers("train", identity, 1000, fields, 2, &made);
 *   options.dataset = made;
 *   ... forebay_loader_create, forebay_loader_open ...
 *   forebay_loader_start_producers(loader, 4, &socket);
 *   ... fork a host that serves `socket`, as proto/worker_socket.h says ...
 *   forebay_loader_start_epoch(loader, 0, 0);
 *
 * The host and its producers may be stopped for as long as the caller likes:
 * the daemon waits, and so do the loader's batches. Other loaders that share
 * the batches get FOREBAY_FAILED_PRECONDITION from forebay_loader_next after a
 * second or two of waiting. This loader gets that status if it waits for 30 s
 * while the host alone is silent, and if the host has ended. If the daemon
 * cannot see the host's process (another PID namespace), both times are two
 * seconds longer. Loaders of a live dataset wait for a silent host without end.
 * After that status, the caller opens the loader again, and starts a host for
 * it if there is none.
 *
 * Threads, ownership, fork and errors: as in forebay_dataset.h and forebay.h.
 * Blocking: forebay_loader_start_producers waits for the daemon's answer. */

#include "client/forebay_dataset.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes a dataset of `samples` samples with these 1 to 15 fields: arrays of
 * kind FOREBAY_ARRAY, without data. The first extent of their shapes stands for
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
 * loaders of the same identity where they are. It joins the latest epoch that
 * one of them has under way, if that epoch is its own or a later one. A loader
 * that falls far behind passes over samples. This call takes the place of
 * forebay_dataset_set_lanes. */
FOREBAY_EXPORT forebay_status
forebay_dataset_set_live(forebay_dataset* dataset);

/* Keeps the first `count` fields of a dataset of producers on the host, even in
 * batches on a GPU. `count` is less than the number of fields. At most one call
 * for each dataset. */
FOREBAY_EXPORT forebay_status
forebay_dataset_set_host_fields(forebay_dataset* dataset, uint32_t count);

/* Adds an op to a pipeline for images of other datasets: code of the caller's
 * own. Producers run it on uint8 pixels, channels last, of the one size that
 * the ops before it make. A pipeline has at most one such op. `identity`: 16
 * bytes, equal for code that makes equal samples.
 *
 * `dtype`, `shape` and `rank` describe the result for one sample: uint8 of
 * height, width and 1 or 3 channels. With `finished`, the result may have any
 * type and shape, and no op may follow. */
FOREBAY_EXPORT forebay_status forebay_pipeline_add_user_code(
    forebay_pipeline* pipeline, const uint8_t* identity, forebay_dtype dtype,
    const uint64_t* shape, size_t rank, int finished);

/* Lets at most `producers` processes (1 to 256) make the samples of an open
 * loader at once. *socket becomes a descriptor of the caller's, for the host
 * that forks the producers. The caller calls this once for each time that it
 * opens the loader, before its first epoch. FOREBAY_INVALID_ARGUMENT: the
 * daemon makes the samples alone. FOREBAY_FAILED_PRECONDITION: the loader's
 * samples have a host already. */
FOREBAY_EXPORT forebay_status forebay_loader_start_producers(
    forebay_loader* loader, uint32_t producers, int* socket);

/* Does what forebay_loader_start_producers does, for producers that are to keep
 * their state however long the loader rests between epochs. The loader then
 * keeps the memory of its batches until it is closed. Loaders without
 * persistent producers give that memory back after session.idle_seconds, and
 * their producers are replaced. Producers that loaders share are also replaced
 * when a loader joins. */
FOREBAY_EXPORT forebay_status forebay_loader_start_persistent_producers(
    forebay_loader* loader, uint32_t producers, int* socket);

/* Draws a part of an epoch's order, for callers that make batches of their own.
 * The part is the samples of the options' rank from place `first` on. Only the
 * options order (SEQUENTIAL or SHUFFLE), seed, rank, world_size, uneven,
 * runtime_dir, job_key, job_name and weight have an effect. `samples` has room
 * for *count numbers; *count becomes how many the library has written, fewer
 * where the order ends. Blocks until the daemon answers. FOREBAY_UNAVAILABLE:
 * no daemon listens. */
FOREBAY_EXPORT forebay_status forebay_draw_order(
    const forebay_loader_options* options, uint64_t dataset_size,
    uint64_t epoch, uint64_t first, uint64_t* samples, size_t* count);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_PRODUCER_H_ */
