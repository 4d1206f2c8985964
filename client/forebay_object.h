#ifndef FOREBAY_CLIENT_FOREBAY_OBJECT_H_
#define FOREBAY_CLIENT_FOREBAY_OBJECT_H_

/* Reads of ranges of single files and objects, from the cache that all jobs
 * share.
 *
 *   forebay_object_reader* reader;
 *   forebay_object_reader_open(&options, &reader);
 *   forebay_object_range range = {"/data", directory, "train.csv", NULL,
 *                                 0, 1 << 20, 1 << 20};
 *   forebay_object_ask(reader, &range);
 *   forebay_object_part part;
 *   if (forebay_object_await(reader, -1, &part) != FOREBAY_OK) ...
 *   // part.bytes of part.data; larger files: go on with &part.version
 *
 * Threads: a reader belongs to one thread at a time; the library starts none.
 * Ownership: as in forebay.h. A part points to memory that the daemon writes,
 * which is readable until the next forebay_object_ask. Fork: the child may free
 * its parent's reader and open another; all other calls return FOREBAY_FORKED.
 * Errors: as in forebay.h. */

#include "client/forebay.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A session with the daemon that reads ranges of any objects. */
typedef struct forebay_object_reader forebay_object_reader;

/* The state of an object. If its content changes, so does this state. */
typedef struct forebay_object_version {
  uint64_t size; /* bytes */
  /* A file's modification time in nanoseconds since the Unix epoch; for objects
   * of stores, the generation, or another number that changes with the object.
   */
  int64_t stamp;
  uint64_t inode;      /* 0: unknown */
  int64_t ctime_nanos; /* 0: unknown */
} forebay_object_version;

typedef struct forebay_object_range {
  /* The folder's URI, at most 4096 bytes. */
  const char* root;
  /* The folder's descriptor, which stays the caller's; -1: the daemon finds the
   * URI itself ("gs://bucket/prefix", "s3://...", "hdfs://...",
   * "https://..."). */
  int directory;
  const char* name; /* the object's path below the folder */
  /* The state that the object must still have. NULL: the object is read in its
   * present state. In this case, `offset` must be 0, and the object may have at
   * most `length` bytes. */
  const forebay_object_version* version;
  /* The range in bytes: whole blocks of block_bytes each, except for the
   * object's last block; at most 16 MiB. */
  uint64_t offset;
  uint64_t length;
  /* Bytes of a block, in which the daemon reads and caches: a power of two,
   * 64 KiB to 16 MiB. */
  uint32_t block_bytes;
} forebay_object_range;

typedef struct forebay_object_part {
  forebay_object_version version;
  const void* data; /* NULL if the part has no bytes */
  uint64_t bytes;
} forebay_object_part;

/* Connects to the daemon; blocks for at most 10 s. Only the options
 * runtime_dir, job_key, job_name and weight have an effect.
 * FOREBAY_UNAVAILABLE: no daemon listens. End *out with
 * forebay_object_reader_free. */
FOREBAY_EXPORT forebay_status forebay_object_reader_open(
    const forebay_loader_options* options, forebay_object_reader** out);

/* Asks for a range. The caller must have awaited any earlier range. */
FOREBAY_EXPORT forebay_status forebay_object_ask(
    forebay_object_reader* reader, const forebay_object_range* range);

/* Waits until the range is there, at most `timeout_seconds` (negative: without
 * end). FOREBAY_INTERRUPTED and FOREBAY_TIMEOUT: call again to go on waiting.
 * FOREBAY_FAILED_PRECONDITION: the object is gone, or no longer has the range's
 * version. FOREBAY_UNAVAILABLE: the daemon is gone. FOREBAY_SOURCE_UNAVAILABLE:
 * the daemon cannot reach the object at present. FOREBAY_UNIMPLEMENTED: the
 * daemon is too old to read objects. */
FOREBAY_EXPORT forebay_status
forebay_object_await(forebay_object_reader* reader, double timeout_seconds,
                     forebay_object_part* out);

/* Ends the session and frees the handle; NULL does nothing. */
FOREBAY_EXPORT void forebay_object_reader_free(forebay_object_reader* reader);

#ifdef __cplusplus
} /* extern "C" */
#endif

#endif /* FOREBAY_CLIENT_FOREBAY_OBJECT_H_ */
